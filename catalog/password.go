package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// ReadPassword reads the password in a file. The error says what the file lacks.
func ReadPassword(path string) (string, error) {
	text, err := os.ReadFile(path)
	password := strings.TrimRight(string(text), "\r\n")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("the file %s does not exist", path)
	case err != nil:
		return "", err
	case password == "":
		return "", fmt.Errorf("the file %s is empty", path)
	}
	return password, nil
}

// connection returns the connection to use now. If the password in the file has changed, that is a new connection;
// statements that run on the old one may fail, and are then repeated as after any failure. Its error is an *Error.
func (c *Catalog) connection(op string) (driver.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.passwordFile == "" {
		return c.conn, nil
	}
	password, err := ReadPassword(c.passwordFile)
	if err != nil {
		return nil, &Error{Reason: NoPassword, Op: op, Address: c.Address(), Err: err,
			Hint: fmt.Sprintf("is not asked before there is a password: %v (--catalog.password-file)", err)}
	}
	if password == c.password {
		return c.conn, nil
	}
	options := c.options
	options.Auth.Password = password
	conn, err := clickhouse.Open(&options)
	if err != nil {
		return nil, c.explain(op, err)
	}
	_ = c.conn.Close() // its password is refused from now on
	c.password, c.conn = password, conn
	return conn, nil
}

// serverOptions returns the options of the connection.
func (c *Catalog) serverOptions() clickhouse.Options {
	c.mu.Lock()
	defer c.mu.Unlock()
	options := c.options
	options.Auth.Password = c.password
	return options
}
