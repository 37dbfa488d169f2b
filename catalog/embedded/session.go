package embedded

import (
	"strconv"
	"sync"
	"time"
)

// session is a connection that outlives its request because the client named it with session_id:
// temporary tables, SET and USE last until the session's timeout.
type session struct {
	conn   *connection
	id     string // the id of its statements, for kill
	busy   bool
	expiry *time.Timer
}

// sessionName names a session. A reader and a writer never share one.
type sessionName struct {
	of   role
	name string
}

// sessions are the named sessions.
type sessions struct {
	mutex sync.Mutex
	named map[sessionName]*session
}

const (
	defaultSessionTimeout = time.Minute
	maxSessionTimeout     = time.Hour
	maxSessions           = 100 // of readers, and of writers
)

func sessionTimeout(v string) (time.Duration, error) {
	if v == "" {
		return defaultSessionTimeout, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 {
		return 0, newException(codeInvalidTimeout, "Invalid session timeout: '%s'", v)
	}
	d := time.Duration(n) * time.Second
	if d > maxSessionTimeout {
		return 0, newException(codeInvalidTimeout, "Session timeout '%s' is larger than max_session_timeout: %d. Maximum session timeout could be modified in configuration file.", v, int(maxSessionTimeout/time.Second))
	}
	return d, nil
}

// take reserves the named session for one request, and opens it if it does not exist.
func (s *sessions) take(e *engine, name sessionName, mustExist bool) (*session, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if found := s.named[name]; found != nil {
		if found.busy {
			return nil, newException(codeSessionIsLocked, "Session %s is locked by a concurrent client", name.name)
		}
		found.busy = true
		found.expiry.Stop()
		return found, nil
	}
	if mustExist {
		return nil, newException(codeSessionNotFound, "Session %s not found", name.name)
	}
	if s.count(name.of) >= maxSessions {
		return nil, newException(codeTooManyQueries, "Too many sessions. Maximum: %d", maxSessions)
	}
	id := e.newID()
	conn, err := e.open(id, name.of)
	if err != nil {
		return nil, err
	}
	opened := &session{conn: conn, id: id, busy: true}
	if s.named == nil {
		s.named = map[sessionName]*session{}
	}
	s.named[name] = opened
	return opened, nil
}

func (s *sessions) count(of role) (n int) {
	for name := range s.named {
		if name.of == of {
			n++
		}
	}
	return n
}

// give releases a session after a request; the session ends once it has been unused for timeout.
func (s *sessions) give(name sessionName, used *session, timeout time.Duration, end bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	used.busy = false
	if end {
		s.drop(name, used)
		return
	}
	used.expiry = time.AfterFunc(timeout, func() {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		if !used.busy && s.named[name] == used {
			s.drop(name, used)
		}
	})
}

func (s *sessions) drop(name sessionName, used *session) {
	delete(s.named, name)
	used.conn.close()
}

// close ends all sessions. No request may be running.
func (s *sessions) close() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for name, used := range s.named {
		if used.expiry != nil {
			used.expiry.Stop()
		}
		s.drop(name, used)
	}
}
