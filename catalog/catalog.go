package catalog

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Options say which ClickHouse has the catalog.
type Options struct {
	// URL as ParseURL has it.
	URL string
	// Username overrides that of the URL, if set. Password comes from a file or
	// the environment, never from the URL.
	Username, Password string
	// PasswordFile has the password instead, if set. It is read for each use of the catalog, as it may not be there
	// yet, or may change: the program that makes it may start later than this one.
	PasswordFile string
	// Version of this program, which ClickHouse's query log shows.
	Version string
	// Now is the clock that reports measure idle times by; time.Now if nil.
	Now func() time.Time
}

// Catalog is a connection to the database of the history. It is safe for use by several goroutines.
type Catalog struct {
	options clickhouse.Options // without the password
	now     func() time.Time
	columns sync.Map // by the SQL of a report, its []ResultColumn
	sandbox *sandbox

	mostSent int // the number of rows that a statement can bring along as a table

	passwordFile string
	mu           sync.Mutex // guards what follows
	password     string
	conn         driver.Conn
}

// Open checks the options and prepares the connection. It does not connect:
// that happens with the first use, so an error is always a user's mistake in the
// options, in one line.
func Open(o Options) (*Catalog, error) {
	parsed, err := ParseURL(o.URL)
	if err != nil {
		return nil, err
	}
	if o.Username != "" {
		parsed.Auth.Username = o.Username
	}
	parsed.Auth.Password = o.Password
	parsed.MaxOpenConns = 8
	// A connection keeps a buffer of the size of its largest block, which is megabytes
	// after the first lists.
	parsed.ConnMaxLifetime, parsed.FreeBufOnConnRelease = time.Minute, true
	said := &sandbox{}
	parsed.TransportFunc = func(t *http.Transport) (http.RoundTripper, error) { return newDeadlines(t, said), nil }
	parsed.ClientInfo.Products = append(parsed.ClientInfo.Products,
		struct{ Name, Version string }{"kubevoltracker", o.Version})
	conn, err := clickhouse.Open(parsed)
	if err != nil {
		return nil, fmt.Errorf("--catalog.url: %w", err)
	}
	c := &Catalog{options: *parsed, conn: conn, sandbox: said, now: o.Now, mostSent: 200_000, password: o.Password, passwordFile: o.PasswordFile}
	c.options.Auth.Password = ""
	if c.now == nil {
		c.now = time.Now
	}
	return c, nil
}

// Close ends the connections.
func (c *Catalog) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conn.Close()
}

// Address is where the catalog is: host:port.
func (c *Catalog) Address() string { return c.options.Addr[0] }

// Database is the name of the database with the tables.
func (c *Catalog) Database() string { return c.options.Auth.Database }

// Ping asks ClickHouse for a sign of life. Errors are *Error; a database that
// does not exist yet is one of them.
func (c *Catalog) Ping(ctx context.Context) error {
	conn, err := c.connection("ping")
	if err != nil {
		return err
	}
	return c.explain("ping", conn.Ping(ctx))
}
