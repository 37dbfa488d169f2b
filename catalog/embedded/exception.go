package embedded

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// Exception is an error of the engine, or of this interface in the engine's format: ClickHouse's
// code, its symbolic name, and the message as clients parse it.
type Exception struct {
	Code int
	Name string // UNKNOWN_TABLE
	Text string // the text between "DB::Exception: " and the name
}

func (e *Exception) Error() string {
	return fmt.Sprintf("Code: %d. DB::Exception: %s (%s)", e.Code, e.Text, e.Name)
}

// The codes of this interface's own errors.
const (
	codeUnknownFormat        = 73
	codeIncorrectData        = 117
	codeTimeoutExceeded      = 159
	codeBadArguments         = 36
	codeNotImplemented       = 48
	codeSyntaxError          = 62
	codeReadOnly             = 164
	codeNotEnoughSpace       = 243
	codeTooManyQueries       = 202
	codeSocketTimeout        = 209
	codeIntoOutfile          = 358
	codeSessionNotFound      = 372
	codeSessionIsLocked      = 373
	codeInvalidTimeout       = 374
	codeCancelled            = 394
	codeTooManyRowsOrBytes   = 396
	codeConstraint           = 452
	codeAccessDenied         = 497
	codeAuthenticationFailed = 516
	codeUnknownException     = 1002
)

var codeNames = map[int]string{
	codeTooManyRowsOrBytes: "TOO_MANY_ROWS_OR_BYTES", codeConstraint: "SETTING_CONSTRAINT_VIOLATION",
	codeUnknownFormat: "UNKNOWN_FORMAT", codeTimeoutExceeded: "TIMEOUT_EXCEEDED",
	codeIncorrectData: "INCORRECT_DATA", codeBadArguments: "BAD_ARGUMENTS", codeNotImplemented: "NOT_IMPLEMENTED",
	codeNotEnoughSpace: "NOT_ENOUGH_SPACE", codeSyntaxError: "SYNTAX_ERROR", codeReadOnly: "READONLY", codeSocketTimeout: "SOCKET_TIMEOUT", codeTooManyQueries: "TOO_MANY_SIMULTANEOUS_QUERIES",
	codeIntoOutfile: "INTO_OUTFILE_NOT_ALLOWED", codeSessionNotFound: "SESSION_NOT_FOUND",
	codeSessionIsLocked: "SESSION_IS_LOCKED", codeInvalidTimeout: "INVALID_SESSION_TIMEOUT", codeCancelled: "QUERY_WAS_CANCELLED",
	codeAccessDenied: "ACCESS_DENIED", codeAuthenticationFailed: "AUTHENTICATION_FAILED",
	codeUnknownException: "UNKNOWN_EXCEPTION",
}

func newException(code int, format string, args ...any) *Exception {
	return &Exception{Code: code, Name: codeNames[code], Text: fmt.Sprintf(format, args...)}
}

var (
	exceptionHead = regexp.MustCompile(`^(?s)Code: (\d+)\. DB::[A-Za-z]*Exception: (.*)$`)
	exceptionTail = regexp.MustCompile(`(?s)^(.*?)\s*\(([A-Z][A-Z0-9_]+)\)\s*(?:\(version [^)]*\)+)?\s*$`)
)

// parseException parses an error text of the engine.
func parseException(text string) *Exception {
	head := exceptionHead.FindStringSubmatch(text)
	if head == nil {
		return &Exception{Code: codeUnknownException, Name: codeNames[codeUnknownException], Text: strings.TrimSpace(text)}
	}
	code, _ := strconv.Atoi(head[1])
	e := &Exception{Code: code, Name: cmp.Or(codeNames[code], codeNames[codeUnknownException]), Text: head[2]}
	if tail := exceptionTail.FindStringSubmatch(head[2]); tail != nil {
		e.Text, e.Name = tail[1], tail[2]
	}
	return e
}

// status returns the HTTP status with which a ClickHouse server answers for this code.
func (e *Exception) status() int {
	switch e.Code {
	case 194: // REQUIRED_PASSWORD
		return http.StatusUnauthorized
	case 192, 193, codeAuthenticationFailed, 512, codeAccessDenied: // UNKNOWN_USER, WRONG_PASSWORD, …, SET_NON_GRANTED_ROLE
		return http.StatusForbidden
	case codeBadArguments, 427, 6, 25, 26, 38, 41, 72, 27, 441, 675, 676, 376, // what cannot be parsed
		15, 44, 8, 37, 123, 223, 167, 168, codeSyntaxError, codeIncorrectData, 53, 321, codeInvalidTimeout:
		return http.StatusBadRequest
	case 60, 46, 47, 50, 56, 81, 115, 152, 63, 73, 336, 78, 511, codeSessionNotFound: // what is unknown
		return http.StatusNotFound
	case 229: // QUERY_IS_TOO_LARGE
		return http.StatusRequestEntityTooLarge
	case codeNotImplemented:
		return http.StatusNotImplemented
	case codeSocketTimeout, 76, 439, codeTooManyQueries: // SOCKET_TIMEOUT, CANNOT_OPEN_FILE, CANNOT_SCHEDULE_TASK
		return http.StatusServiceUnavailable
	case 779: // UNSUPPORTED_MEDIA_TYPE
		return http.StatusUnsupportedMediaType
	case 381: // HTTP_LENGTH_REQUIRED
		return http.StatusLengthRequired
	case 159: // TIMEOUT_EXCEEDED
		return http.StatusRequestTimeout
	}
	return http.StatusInternalServerError
}
