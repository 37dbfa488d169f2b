package embedded

import (
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// admit checks who asks. Without a password only this machine can ask (see Options), but
// a web page in a browser on this machine is not its user: requests that a browser marks
// as another site's, or that come under a foreign host name, are refused.
func (s *Server) admit(r *http.Request) error {
	user, password, ok := r.BasicAuth()
	if !ok {
		user, password = r.Header.Get("X-ClickHouse-User"), r.Header.Get("X-ClickHouse-Key")
		if user == "" && password == "" {
			values := r.URL.Query()
			user, password = values.Get("user"), values.Get("password")
		}
	}
	right := subtle.ConstantTimeCompare([]byte(password), []byte(s.options.Password)) == 1
	if (user != "" && user != "default") || !right {
		return newException(codeAuthenticationFailed, "%s: Authentication failed: password is incorrect, or there is no user with such name.", first(user, "default"))
	}
	if s.options.Password != "" {
		return nil
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return newException(codeAccessDenied, "default: requests from web pages of other sites are not allowed without a password")
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		if u, err := url.Parse(origin); err != nil || u.Host != r.Host {
			return newException(codeAccessDenied, "default: requests from web pages of other sites are not allowed without a password")
		}
	}
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if host != "" && !strings.EqualFold(host, "localhost") && net.ParseIP(strings.Trim(host, "[]")) == nil {
		return newException(codeAccessDenied, "default: without a password, requests must name the host by address or as localhost, not %q", host)
	}
	return nil
}

// newUUID names a query whose client gave it no name.
func newUUID() string {
	b := make([]byte, 16)
	rand.Read(b)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
