package catalog

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"

	chproto "github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2"
)

// Reason is what kind of trouble there is with ClickHouse: what a caller
// decides by.
type Reason int

// The reasons.
const (
	// Refused: ClickHouse answered that it will not do this, for a cause that does
	// not pass by waiting: an unknown column, a wrong type, bad SQL.
	Refused Reason = iota
	// Overloaded: it answered that it cannot do this at present: memory, too many
	// queries, read-only, a full disk.
	Overloaded
	// Unreachable: there was no answer, or a proxy's.
	Unreachable
	// RefusedLogin: it does not know the user, the password or the right.
	RefusedLogin
	// Untrusted: its certificate is not one we trust.
	Untrusted
	// NoPassword: the file with the password is not there, or empty.
	NoPassword
	// NewerSchema: a later kubevoltracker made the tables, or an unreleased one.
	NewerSchema
)

// Error is any failure of the catalog. Its text is one line that says what was
// being done, where, and what to do about it.
type Error struct {
	Reason  Reason
	Op      string // what was being done
	Address string // host:port
	Hint    string // cause and cure, in one line
	Err     error  // what clickhouse-go returned; nil for NewerSchema
}

func (e *Error) Error() string {
	return fmt.Sprintf("catalog: %s: ClickHouse at %s %s", e.Op, e.Address, e.Hint)
}

func (e *Error) Unwrap() error { return e.Err }

// IsReason reports whether err is an *Error of one of these reasons.
func IsReason(err error, reasons ...Reason) bool {
	var e *Error
	return errors.As(err, &e) && slices.Contains(reasons, e.Reason)
}

// IsFatal reports whether a tracker that starts should give up because of err:
// a refused login, an untrusted certificate, a newer schema. Everything else may
// pass and is waited for.
func IsFatal(err error) bool { return IsReason(err, RefusedLogin, Untrusted, NewerSchema) }

var (
	loginCodes = []chproto.Error{
		chproto.ErrUnknownUser,
		chproto.ErrWrongPassword,
		chproto.ErrRequiredPassword,
		chproto.ErrIPAddressNotAllowed,
		chproto.ErrAuthenticationFailed,
	}
	passingCodes = []chproto.Error{
		chproto.ErrCannotWriteToFileDescriptor, // as of a full disk
		chproto.ErrCannotOpenFile,              // as of too many of them
		chproto.ErrTimeoutExceeded,
		chproto.ErrReadonly,
		chproto.ErrCannotAllocateMemory,
		chproto.ErrQuotaExceeded,
		chproto.ErrTooManySimultaneousQueries,
		chproto.ErrNoFreeConnection,
		chproto.ErrSocketTimeout,
		chproto.ErrNetworkError,
		chproto.ErrNoZookeeper,
		chproto.ErrAborted, // also at shutdown
		chproto.ErrMemoryLimitExceeded,
		chproto.ErrTableIsReadOnly,
		chproto.ErrNotEnoughSpace,
		chproto.ErrTooManyParts,
		chproto.ErrTooFewLiveReplicas,
		chproto.ErrUnsatisfiedQuorumForPreviousWrite,
		chproto.ErrUnknownStatusOfInsert,
		chproto.ErrQueryWasCancelled,
		chproto.ErrSystemError,
		chproto.ErrCannotScheduleTask,
		chproto.ErrDeadlockAvoided,
		chproto.ErrS3Error,
		chproto.ErrKeeperException,
	}
)

// explain turns an error of clickhouse-go into an *Error; nil stays nil, and
// what was cancelled by us stays context.Canceled.
func (c *Catalog) explain(op string, err error) error {
	var known *Error
	if err == nil || errors.Is(err, context.Canceled) || errors.As(err, &known) {
		return err
	}
	e := &Error{Op: op, Address: c.Address(), Err: err}
	var certificate *tls.CertificateVerificationError
	var exception *clickhouse.Exception
	switch {
	case errors.As(err, &certificate):
		e.Reason = Untrusted
		e.Hint = fmt.Sprintf("has a certificate that is not trusted (%s); name its authority with ca_file in --catalog.url",
			oneLine(certificate.Err.Error()))
	case errors.As(err, &exception):
		e.Reason, e.Hint = c.explainException(exception)
	case unreachable(err):
		e.Reason, e.Hint = Unreachable, "cannot be reached: "+oneLine(rootCause(err).Error())
	default:
		e.Reason, e.Hint = Refused, "failed: "+oneLine(err.Error())
	}
	return e
}

func (c *Catalog) explainException(x *clickhouse.Exception) (Reason, string) {
	code, said := chproto.Error(x.Code), fmt.Sprintf("(code %d: %s)", x.Code, oneLine(x.Message))
	switch {
	case code == chproto.ErrAccessDenied && strings.Contains(x.Message, "reads only"):
		return RefusedLogin, fmt.Sprintf("lets user %q only read; log in as one who may write, by --catalog.username and --catalog.password-file. Of an embedded ClickHouse only the tracker, or who may exec into its container, has such a login (docs/security.md)", c.user())
	case code == chproto.ErrAccessDenied:
		return RefusedLogin, fmt.Sprintf("does not give user %q the rights it needs %s", c.user(), said)
	case slices.Contains(loginCodes, code):
		// The server's own text runs over several lines about ClickHouse Cloud.
		return RefusedLogin, fmt.Sprintf("refuses the login of user %q (code %d); check the user in --catalog.url and the password in --catalog.password-file or KUBEVOLTRACKER_CATALOG_PASSWORD",
			c.user(), x.Code)
	case code == chproto.ErrUnknownDatabase:
		return Refused, fmt.Sprintf("has no database %q; create it with `kubevoltracker schema migrate`", c.Database())
	case slices.Contains(passingCodes, code):
		return Overloaded, "cannot do this at present " + said
	default:
		return Refused, "refuses " + said
	}
}

func (c *Catalog) user() string {
	if c.options.Auth.Username == "" {
		return "default"
	}
	return c.options.Auth.Username
}

// HasCode reports whether ClickHouse answered with one of these codes.
func HasCode(err error, codes ...chproto.Error) bool {
	var x *clickhouse.Exception
	return errors.As(err, &x) && slices.Contains(codes, chproto.Error(x.Code))
}

func unreachable(err error) bool {
	var network net.Error
	var status *clickhouse.HTTPError
	return errors.As(err, &network) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.Is(err, clickhouse.ErrAcquireConnTimeout) ||
		(errors.As(err, &status) && status.StatusCode >= http.StatusInternalServerError)
}

// rootCause drops the layers that clickhouse-go and net/http put around what the
// network said, and with them the URL and its query.
func rootCause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op
	}
	return err
}

// oneLine returns a text as one line that a terminal can show: a server's message may quote names and
// values that anybody chose.
func oneLine(s string) string { return Printable(strings.Join(strings.Fields(s), " ")) }
