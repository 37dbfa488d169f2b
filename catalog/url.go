package catalog

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// DefaultDatabase is used where the URL names none.
const DefaultDatabase = "kubevoltracker"

// dialTimeout bounds connecting and the first exchange. An engine that is busy
// merging on a small machine has been seen to take seconds for that.
const dialTimeout = 10 * time.Second

// A database name goes into DDL, where no server-side parameter can stand.
var databaseName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// ParseURL turns the URL of a catalog into the options of clickhouse-go:
//
//	clickhouse://user@host:9000/database?secure=true   native protocol
//	http://user@host:8123/database                     HTTP interface
//	https://user@host:8443/database                    HTTP interface over TLS
//
// Parameters: secure (native only), skip_verify (do not check the server's
// certificate) and ca_file (PEM file with the authorities to trust). A password
// is refused, as URLs end up in process lists and logs. Errors are a user's
// mistakes: one line that names the flag, the mistake and the cure.
func ParseURL(raw string) (*clickhouse.Options, error) {
	u, err := url.Parse(raw)
	if err != nil {
		// The error of net/url repeats the URL, which may have a password in it.
		return nil, errors.New("--catalog.url: not a URL; write it like http://host:8123/kubevoltracker or clickhouse://user@host:9000/kubevoltracker")
	}
	if _, has := u.User.Password(); has || u.Query().Has("password") {
		return nil, errors.New("--catalog.url: a password in the URL is refused; put it into a file and name that with --catalog.password-file, or into KUBEVOLTRACKER_CATALOG_PASSWORD")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("--catalog.url: bad parameters: %w", err)
	}
	if err := knownParameters(query); err != nil {
		return nil, err
	}
	protocol, port, secure, err := transport(u, query)
	if err != nil {
		return nil, err
	}
	o := &clickhouse.Options{DialTimeout: dialTimeout, Protocol: protocol}
	if u.Hostname() == "" {
		return nil, fmt.Errorf("--catalog.url: no host in %q", raw)
	}
	o.Addr = []string{net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port))}
	o.Auth.Username = u.User.Username()
	o.Auth.Database = cmp.Or(strings.Trim(u.Path, "/"), DefaultDatabase)
	if !databaseName.MatchString(o.Auth.Database) {
		return nil, fmt.Errorf("--catalog.url: %q is no database name; use letters, digits and underscores, no digit first", o.Auth.Database)
	}
	if secure {
		if o.TLS, err = tlsConfig(query); err != nil {
			return nil, err
		}
	} else if query.Has("skip_verify") || query.Has("ca_file") {
		return nil, errors.New("--catalog.url: skip_verify and ca_file need TLS; add secure=true or use https://")
	}
	if !loopback(u.Hostname()) {
		o.Compression = &clickhouse.Compression{Method: clickhouse.CompressionLZ4}
	}
	return o, nil
}

// transport returns what the scheme of a URL stands for: the protocol, its default port, and whether it runs over TLS.
func transport(u *url.URL, query url.Values) (protocol clickhouse.Protocol, port string, secure bool, err error) {
	if secure, err = boolParameter(query, "secure"); err != nil {
		return 0, "", false, err
	}
	switch u.Scheme {
	case "clickhouse":
		if secure {
			return clickhouse.Native, "9440", true, nil
		}
		return clickhouse.Native, "9000", false, nil
	case "http":
		if secure {
			err = errors.New("--catalog.url: http cannot be secure; write https://")
		}
		return clickhouse.HTTP, "8123", false, err
	case "https":
		return clickhouse.HTTP, "8443", true, nil
	case "embedded": // "run" starts this one itself
		err = errors.New("--catalog.url: the embedded ClickHouse of a tracker is at http://127.0.0.1:8123/kubevoltracker, or where --catalog.embedded-listen-address puts it")
	case "":
		if err = fmt.Errorf("--catalog.url: %q has no scheme; use clickhouse://, http:// or https://", u); u.Path == "none" { // "run" takes this one
			err = errors.New("--catalog.url=none (or KUBEVOLTRACKER_CATALOG_URL): this tracker keeps no history. Name the ClickHouse of a tracker that has one, such as http://127.0.0.1:8123/kubevoltracker")
		}
	default: // what follows the scheme may be a password: user:password@host
		err = fmt.Errorf("--catalog.url: unknown scheme %q; use clickhouse://, http:// or https://", u.Scheme)
	}
	return 0, "", false, err
}

func knownParameters(query url.Values) error {
	known := []string{"secure", "skip_verify", "ca_file"}
	for name := range query {
		if !slices.Contains(known, name) {
			return fmt.Errorf("--catalog.url: unknown parameter %q; known are %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}

func boolParameter(query url.Values, name string) (bool, error) {
	if !query.Has(name) {
		return false, nil
	}
	b, err := strconv.ParseBool(query.Get(name))
	if err != nil {
		return false, fmt.Errorf("--catalog.url: %s=%q is neither true nor false", name, query.Get(name))
	}
	return b, nil
}

func tlsConfig(query url.Values) (*tls.Config, error) {
	skip, err := boolParameter(query, "skip_verify")
	if err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: skip} //nolint:gosec // asked for by name
	file := query.Get("ca_file")
	if file == "" {
		return config, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--catalog.url: ca_file: %w", err)
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("--catalog.url: ca_file: no PEM certificate in %s", file)
	}
	return config, nil
}

// loopback reports whether the server is on this machine, where compression costs more than it saves.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}
