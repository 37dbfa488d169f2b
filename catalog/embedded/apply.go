package embedded

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
)

// Settings that this package applies, not the engine. The engine knows them too, and checks their
// values.
const (
	settingHTTPCompression  = "enable_http_compression"
	settingBlockCompression = "network_compression_method"
	settingZSTDLevel        = "network_zstd_compression_level"
)

// answerOptions reads from settings and headers how the answer is compressed.
func (q *request) answerOptions(resp *response, r *http.Request, httpCompression string) {
	for _, s := range q.settings {
		switch s.name {
		case settingHTTPCompression:
			httpCompression = s.value
		case settingBlockCompression:
			resp.blockMethod = s.value
		case settingZSTDLevel:
			resp.blockLevel, _ = strconv.Atoi(s.value) // the engine reports an invalid value
		}
	}
	if isTrue(httpCompression) {
		resp.accept = r.Header.Get("Accept-Encoding")
	}
}

// apply sets up a session for the request: database, role and settings, read-only last. The
// returned function restores the earlier values in sessions that other requests will use.
func (q *request) apply(conn *connection) (restore func(), err error) {
	restore = func() {}
	if q.sessionID != "" {
		if restore, err = q.remember(conn); err != nil {
			return func() {}, err
		}
	}
	if q.database != "" {
		if err := conn.exec("USE " + quoteName(q.database)); err != nil {
			return restore, err
		}
	}
	if q.sqlRole != "" {
		if err := conn.exec("SET ROLE " + quoteName(q.sqlRole)); err != nil {
			return restore, err
		}
	}
	return restore, q.applySettings(conn)
}

// applySettings sets the request's settings in one statement, as each takes the engine a quarter of a millisecond, and readonly last.
// The session of a reader is read-only already.
func (q *request) applySettings(conn *connection) error {
	readOnly := ""
	if q.readOnly && q.sessionID == "" && q.role != reader {
		readOnly = "2" // like a server for GET: read only, but settings may still be given
	}
	var changes []string
	for _, s := range q.settings {
		if q.role == reader {
			if s.isDefault() {
				continue
			}
			if err := checkSetting(s.name); err != nil {
				return err
			}
		}
		if s.name == "readonly" {
			if readOnly == "" || s.value == "1" {
				readOnly = s.value
			}
			continue
		}
		changes = append(changes, quoteSetting(s.name)+" = "+quote(s.value))
	}
	if len(changes) > 0 {
		if err := conn.exec("SET " + strings.Join(changes, ", ")); err != nil {
			return err
		}
	}
	if readOnly == "" {
		return nil
	}
	return conn.exec("SET readonly = " + quote(readOnly))
}

// isDefault reports whether the setting changes nothing in a reader's session: that is read-only anyway, and
// a limit of 0 means that the client sets none.
func (s setting) isDefault() bool {
	return s.name == "readonly" || s.value == "0" && (s.name == "max_memory_usage" || s.name == "max_result_rows")
}

// remember records the values of a request's settings and database in a named session before they
// are set, and returns a function that restores them.
func (q *request) remember(conn *connection) (restore func(), err error) {
	names := []string{quote("readonly")}
	for _, s := range q.settings {
		names = append(names, quote(s.name))
	}
	out, _, err := conn.query([]byte("SELECT name, changed, base64Encode(value), base64Encode(currentDatabase()) FROM system.settings WHERE name IN ("+strings.Join(names, ", ")+")"), "TabSeparated", nil)
	if err != nil {
		return nil, err
	}
	var undo []string
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if f[1] == "1" {
			undo = append(undo, "SET "+quoteSetting(f[0])+" = "+quote(decode(f[2])))
		} else {
			undo = append(undo, "SET "+quoteSetting(f[0])+" = DEFAULT")
		}
		if q.database != "" && f[0] == "readonly" {
			undo = append(undo, "USE "+quoteName(decode(f[3])))
		}
	}
	return func() {
		for _, u := range undo {
			_ = conn.exec(u) // it fails only for a setting that was not applied
		}
	}, nil
}

// quoteSetting returns a setting's name, quoted unless it is a plain word: the name comes from a
// URL.
func quoteSetting(name string) string {
	for i := range len(name) {
		if !isWordStart(name[i]) && !isDigit(name[i]) {
			return quoteName(name)
		}
	}
	return name
}

func decode(b string) string {
	raw, _ := base64.StdEncoding.DecodeString(b) // written by base64Encode
	return string(raw)
}
