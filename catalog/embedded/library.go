package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// LibraryVersion is the version of the npm package @chdb/lib-<platform> that
// this package is written and tested against.
const LibraryVersion = "26.7.3-stable.1"

// LibraryEnv is the environment variable for the library's path.
const LibraryEnv = "KUBEVOLTRACKER_CHDB_LIBRARY"

const libraryName = "libchdb.so"

// handle is a pointer to C memory. It is a uintptr, not an unsafe.Pointer, so that Go's garbage
// collector ignores it.
type handle uintptr

// statementFunc starts a statement with parameters; texts are pointers with lengths.
type statementFunc func(conn handle, query unsafe.Pointer, queryLen uintptr, format unsafe.Pointer, formatLen uintptr,
	names, nameLens, values, valueLens unsafe.Pointer, count uintptr) handle

// Library is libchdb.so, loaded and bound. A process loads it once and never
// unloads it: the engine's threads outlive every connection.
type Library struct {
	setSignalHandlers func(enabled int32)
	version           func() string
	connect           func(argc int32, argv unsafe.Pointer) handle
	closeConn         func(conn handle)
	shutdown          func() int32

	classify    classifyFunc
	query       statementFunc
	streamQuery statementFunc
	fetch       func(conn, stream handle) handle
	cancelQuery func(conn, stream handle)

	insert        statementFunc
	insertAppend  func(stream handle, data unsafe.Pointer, length uintptr) int32
	insertDone    func(stream handle) handle
	insertCancel  func(stream handle)
	insertError   func(stream handle) string
	insertDestroy func(stream handle)

	resultBuffer       func(result handle) unsafe.Pointer
	resultLength       func(result handle) uintptr
	resultError        func(result handle) string
	resultRows         func(result handle) uint64
	resultBytes        func(result handle) uint64
	resultStorageRows  func(result handle) uint64
	resultStorageBytes func(result handle) uint64
	resultRowsWritten  func(result handle) uint64
	resultBytesWritten func(result handle) uint64
	resultDestroy      func(result handle)
}

// LibraryError reports why no usable libchdb.so was found, in one line that names the file and the
// cure.
type LibraryError struct {
	Path string // the file that was tried, or "" if none was found
	Err  error
}

func (e *LibraryError) Error() string {
	cure := fmt.Sprintf("get it with `make libchdb` in the repository, or from npm package %s version %s, and name it with --library or %s",
		npmPackage(), LibraryVersion, LibraryEnv)
	if e.Path == "" {
		return fmt.Sprintf("the ClickHouse library %s was not found: %v; %s", libraryName, e.Err, cure)
	}
	return fmt.Sprintf("the ClickHouse library %s cannot be used: %v; %s", e.Path, e.Err, cure)
}

func (e *LibraryError) Unwrap() error { return e.Err }

// FindLibrary returns the path of libchdb.so: the one given, else the one in the
// environment, else the first that exists beside the running binary, in lib/
// beside it, or in lib/ beside its directory, as in a checkout's .cache. It does not look in the
// working directory, which may be anybody's.
func FindLibrary(given string) (string, error) {
	if given == "" {
		given = os.Getenv(LibraryEnv)
	}
	if given != "" {
		info, err := os.Stat(given)
		if err != nil {
			return "", &LibraryError{Path: given, Err: rootCause(err)}
		}
		if info.IsDir() {
			return "", &LibraryError{Path: given, Err: errors.New("is a directory")}
		}
		return given, nil
	}
	var tried []string
	if exe, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(exe); err == nil {
			exe = real
		}
		dir := filepath.Dir(exe)
		tried = append(tried,
			filepath.Join(dir, libraryName),
			filepath.Join(dir, "lib", libraryName),
			filepath.Join(filepath.Dir(dir), "lib", libraryName))
	}
	for _, path := range tried {
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path, nil
		}
	}
	return "", &LibraryError{Err: fmt.Errorf("looked for %s", strings.Join(tried, ", "))}
}

// LoadLibrary opens the library at path and binds its functions. Nothing is
// loaded before this is called, and signal handling stays with the Go runtime.
func LoadLibrary(path string) (*Library, error) {
	if err := checkLibraryFile(path); err != nil {
		return nil, &LibraryError{Path: path, Err: err}
	}
	if err := checkLibraryHash(path); err != nil {
		return nil, &LibraryError{Path: path, Err: err}
	}
	lib, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, &LibraryError{Path: path, Err: oneLine(err)}
	}
	l := &Library{}
	for _, b := range []struct {
		symbol string
		fn     any
	}{
		{"chdb_set_signal_handlers_enabled", &l.setSignalHandlers},
		{"chdb_version", &l.version},
		{"chdb_connect", &l.connect},
		{"chdb_close_conn", &l.closeConn},
		{"chdb_shutdown", &l.shutdown},
		{"chdb_classify_query_n", &l.classify},
		{"chdb_query_with_params_n", &l.query},
		{"chdb_stream_query_with_params_n", &l.streamQuery},
		{"chdb_stream_fetch_result", &l.fetch},
		{"chdb_stream_cancel_query", &l.cancelQuery},
		{"chdb_stream_insert_with_params_n", &l.insert},
		{"chdb_stream_append", &l.insertAppend},
		{"chdb_stream_done", &l.insertDone},
		{"chdb_stream_cancel_insert", &l.insertCancel},
		{"chdb_stream_insert_error", &l.insertError},
		{"chdb_destroy_insert_stream", &l.insertDestroy},
		{"chdb_result_buffer", &l.resultBuffer},
		{"chdb_result_length", &l.resultLength},
		{"chdb_result_error", &l.resultError},
		{"chdb_result_rows_read", &l.resultRows},
		{"chdb_result_bytes_read", &l.resultBytes},
		{"chdb_result_storage_rows_read", &l.resultStorageRows},
		{"chdb_result_storage_bytes_read", &l.resultStorageBytes},
		{"chdb_result_rows_written", &l.resultRowsWritten},
		{"chdb_result_bytes_written", &l.resultBytesWritten},
		{"chdb_destroy_query_result", &l.resultDestroy},
	} {
		address, err := purego.Dlsym(lib, b.symbol)
		if err != nil {
			return nil, &LibraryError{Path: path, Err: fmt.Errorf("it has no function %s (another version than %s?)", b.symbol, LibraryVersion)}
		}
		purego.RegisterFunc(b.fn, address)
	}
	l.setSignalHandlers(0)
	return l, nil
}

// npmPackage returns the npm package with the library for this platform.
func npmPackage() string {
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	if runtime.GOOS == "linux" {
		return "@chdb/lib-linux-" + arch + "-gnu"
	}
	return "@chdb/lib-" + runtime.GOOS + "-" + arch
}

// rootCause returns err without the operation and path that os errors repeat.
func rootCause(err error) error {
	var pathErr *os.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

func oneLine(err error) error {
	return errors.New(strings.Join(strings.Fields(err.Error()), " "))
}
