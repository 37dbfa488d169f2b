// Package embedded runs ClickHouse inside this process and serves it on ClickHouse's HTTP
// interface, so that clickhouse-go, curl and Grafana can use it like a server.
//
// It owns libchdb.so (found, checked, and loaded only on request), the data directory (locked
// against a second process), the sessions of the engine and the HTTP interface. Each request has a
// session of its own, with its own settings, current database and temporary tables, so that no
// request can affect another one.
//
// It promises that results are streamed and inserts are passed on in chunks, so memory does not
// grow with either; that a statement stops when its client disconnects; that an error carries
// ClickHouse's code, name, header and status; and that Close leaves the data directory flushed.
// Everybody may read, within limits, and who knows the writer's password may write: see login.go and
// gate.go. No statement reaches files, URLs or other servers, as the engine's user was not granted
// that, and as kubevoltracker-clickhouse has the kernel confine itself (package sandbox); a program
// that does not do so has the grants alone, which do not cover the function file.
//
// The package loads the library through purego, which makes a program that imports it link the C
// library dynamically. The tracker therefore never imports it: it runs kubevoltracker-clickhouse as
// a child process (package catalog/engine).
package embedded
