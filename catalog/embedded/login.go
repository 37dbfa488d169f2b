package embedded

import (
	"cmp"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// The users. Whoever gives no name is the reader.
const (
	ReaderUser = "default"
	WriterUser = "kubevoltracker"
)

// login says what the sender of a request may do. Who gives the writer's password may write; without
// one on this machine, or by the readers' password, everyone may read. But a web page in a browser on
// this machine is not its user: login refuses requests that a browser marks as
// another site's; without a password, also those that have a foreign host name.
func (s *Server) login(r *http.Request) (role, error) {
	user, password := credentials(r)
	if err := refuseOtherSites(r); err != nil { // a browser remembers passwords, and sends them along
		return reader, err
	}
	switch {
	case user == WriterUser && s.options.WriterPassword != "" && same(password, s.options.WriterPassword):
		return writer, nil
	case user != "" && user != ReaderUser || s.options.NoReaders:
	case s.options.ReaderPassword == "": // like a server, it takes any password then
		return reader, refuseForeignHost(r)
	case same(password, s.options.ReaderPassword):
		return reader, nil
	}
	return reader, newException(codeAuthenticationFailed, "%s: Authentication failed: password is incorrect, or there is no user with such name.", cmp.Or(user, ReaderUser))
}

func same(given, want string) bool {
	return subtle.ConstantTimeCompare([]byte(given), []byte(want)) == 1
}

// credentials returns the user and the password of a request, from the places where a server looks for
// them.
func credentials(r *http.Request) (user, password string) {
	if user, password, ok := r.BasicAuth(); ok {
		return user, password
	}
	if user, password = r.Header.Get("X-ClickHouse-User"), r.Header.Get("X-ClickHouse-Key"); user != "" || password != "" {
		return user, password
	}
	values := r.URL.Query()
	return values.Get("user"), values.Get("password")
}

// refuseOtherSites refuses a request from a web page of another site.
func refuseOtherSites(r *http.Request) error {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return newException(codeAccessDenied, "default: requests from web pages of other sites are not allowed")
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		if u, err := url.Parse(origin); err != nil || u.Host != r.Host {
			return newException(codeAccessDenied, "default: requests from web pages of other sites are not allowed")
		}
	}
	return nil
}

// refuseForeignHost refuses a request by another name than this machine's, as a page of that name sends
// it once the name leads here.
func refuseForeignHost(r *http.Request) error {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if host != "" && !strings.EqualFold(host, "localhost") && net.ParseIP(strings.Trim(host, "[]")) == nil {
		return newException(codeAccessDenied, "default: without a password, requests must name the host by address or as localhost, not %q", host)
	}
	return nil
}
