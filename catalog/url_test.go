package catalog_test

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
)

func TestURLsAreUnderstood(t *testing.T) {
	for _, test := range []struct {
		url, address, database, user string
		protocol                     clickhouse.Protocol
		tls                          bool
	}{
		{url: "http://127.0.0.1:8123/kubevoltracker", address: "127.0.0.1:8123", database: "kubevoltracker", protocol: clickhouse.HTTP},
		{url: "http://ch", address: "ch:8123", database: "kubevoltracker", protocol: clickhouse.HTTP},
		{url: "https://me@ch/history", address: "ch:8443", database: "history", user: "me", protocol: clickhouse.HTTP, tls: true},
		{url: "clickhouse://me@ch/x/", address: "ch:9000", database: "x", user: "me"},
		{url: "clickhouse://ch?secure=true&skip_verify=1", address: "ch:9440", database: "kubevoltracker", tls: true},
		{url: "clickhouse://[::1]:9001", address: "[::1]:9001", database: "kubevoltracker"},
	} {
		o, err := catalog.ParseURL(test.url)
		if err != nil {
			t.Errorf("%s: %v", test.url, err)
			continue
		}
		if o.Addr[0] != test.address || o.Auth.Database != test.database || o.Auth.Username != test.user ||
			o.Protocol != test.protocol || (o.TLS != nil) != test.tls {
			t.Errorf("%s: got %+v", test.url, o)
		}
	}
}

// TestNamesOfDatabases checks that users.sh grants rights on the databases that a URL may name, and on no others.
func TestNamesOfDatabases(t *testing.T) {
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, good := range map[string]bool{"kubevoltracker": true, "db2026": true, "_2026": true, "2026db": false, "a-b": false, "a.b": false} {
		_, err := catalog.ParseURL("http://ch/" + name)
		users := exec.Command("../deploy/clickhouse/users.sh", password, password)
		users.Env = append(os.Environ(), "KUBEVOLTRACKER_DATABASE="+name)
		out, refused := users.CombinedOutput()
		if (err == nil) != good || (refused == nil) != good {
			t.Errorf("%s: the URL: %v; users.sh: %v", name, err, refused)
		}
		if cure := "letters, digits and underscores, no digit first"; !good && (!strings.Contains(fmt.Sprint(err), cure) || !strings.Contains(string(out), cure)) {
			t.Errorf("%s: want %q in %v, and in %s", name, cure, err, out)
		}
	}
}

func TestMistakesInURLsGetOneLineThatNamesTheCure(t *testing.T) {
	for url, want := range map[string]string{
		"http://me:hunter2@ch":             "--catalog.password-file",
		"clickhouse://ch?password=hunter2": "KUBEVOLTRACKER_CATALOG_PASSWORD",
		"http://me:hunter2@ch:port":        "not a URL",
		"mysql://ch":                       `unknown scheme "mysql"; use clickhouse://`,
		"ch:8123":                          "unknown scheme",
		"http:///db":                       "no host",
		"http://ch?a;password=hunter2":     "bad parameters",
		"embedded:":                        "http://127.0.0.1:8123/kubevoltracker",
		"none":                             "(or KUBEVOLTRACKER_CATALOG_URL): this tracker keeps no history. Name the ClickHouse of a tracker that has one",
		"ch.example.com/db":                `"ch.example.com/db" has no scheme; use clickhouse://`,
		"me:hunter2@ch":                    `unknown scheme "me"`,
		"http://ch?secure=true":            "write https://",
		"http://ch?timeout=5":              `unknown parameter "timeout"; known are secure`,
		"clickhouse://ch?secure=maybe":     "neither true nor false",
		"clickhouse://ch?skip_verify=true": "need TLS",
		"https://ch?ca_file=/nonexistent":  "ca_file: open /nonexistent",
		"http://ch/a-b":                    `"a-b" is no database name`,
		"http://ch/a/b":                    "is no database name",
	} {
		_, err := catalog.Open(catalog.Options{URL: url})
		if err == nil {
			t.Errorf("%s was taken", url)
			continue
		}
		said := err.Error()
		if !strings.HasPrefix(said, "--catalog.url") || !strings.Contains(said, want) ||
			strings.Contains(said, "hunter2") || strings.Contains(said, "\n") {
			t.Errorf("%s: %q, want %q", url, said, want)
		}
	}
}

func TestARefusedLoginIsFatalAndSaysWhatToCheck(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "password")
	if err := os.WriteFile(file, []byte("right"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := &catalogtest.Engine{Dir: filepath.Join(dir, "data"), Flags: []string{"--reader-password-file", file}}
	if err := e.Start(); err != nil {
		t.Fatal(err)
	}
	defer e.Kill()
	for user, password := range map[string]string{"": "wrong", "nobody": "right", "default": "", "me": ""} {
		c, err := catalog.Open(catalog.Options{URL: "http://" + e.Address, Username: user, Password: password})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		err = c.Migrate(t.Context())
		if !catalog.IsReason(err, catalog.RefusedLogin) || !catalog.IsFatal(err) {
			t.Errorf("%q: %v", user, err)
			continue
		}
		want := fmt.Sprintf("catalog: connect: ClickHouse at %s refuses the login of user %q (code 516); check the user in --catalog.url and the password in --catalog.password-file or KUBEVOLTRACKER_CATALOG_PASSWORD",
			e.Address, cmp.Or(user, "default"))
		if err.Error() != want {
			t.Errorf("got\n%s\nwant\n%s", err, want)
		}
	}
	c, err := catalog.Open(catalog.Options{URL: "http://" + e.Address, Username: catalogtest.User, Password: catalogtest.Password})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Migrate(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAnAbsentServerIsNotFatal(t *testing.T) {
	for _, scheme := range []string{"http", "clickhouse"} {
		c, err := catalog.Open(catalog.Options{URL: scheme + "://127.0.0.1:1/x"})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		start := time.Now()
		err = c.Migrate(t.Context())
		if !catalog.IsReason(err, catalog.Unreachable) || catalog.IsFatal(err) || !strings.HasSuffix(err.Error(), "cannot be reached: dial tcp 127.0.0.1:1: connect: connection refused") {
			t.Errorf("%s: %v", scheme, err)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s: took %s", scheme, took)
		}
	}
}

func TestBadSQLIsRefusedInOneLine(t *testing.T) {
	_, err := migrated(t).Query(t.Context(), "SELECT nonsense FROM mounts", nil)
	if !catalog.IsReason(err, catalog.Refused) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "nonsense") {
		t.Fatalf("got %v", err)
	}
}
