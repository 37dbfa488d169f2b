package embedded

import (
	"cmp"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// admit checks who sends a request. Without a password only this machine can send one (see
// Options), but a web page in a browser on this machine is not its user: admit refuses requests
// that a browser marks as another site's, or that have a foreign host name.
func (s *Server) admit(r *http.Request) error {
	user, password := login(r)
	right := subtle.ConstantTimeCompare([]byte(password), []byte(s.options.Password)) == 1
	if (user != "" && user != "default") || !right {
		return newException(codeAuthenticationFailed, "%s: Authentication failed: password is incorrect, or there is no user with such name.", cmp.Or(user, "default"))
	}
	if s.options.Password != "" {
		return nil
	}
	return refuseForeign(r)
}

// login returns the user and the password of a request, from the places where a server looks for
// them.
func login(r *http.Request) (user, password string) {
	if user, password, ok := r.BasicAuth(); ok {
		return user, password
	}
	if user, password = r.Header.Get("X-ClickHouse-User"), r.Header.Get("X-ClickHouse-Key"); user != "" || password != "" {
		return user, password
	}
	values := r.URL.Query()
	return values.Get("user"), values.Get("password")
}

// refuseForeign refuses a request from a web page of another site.
func refuseForeign(r *http.Request) error {
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
