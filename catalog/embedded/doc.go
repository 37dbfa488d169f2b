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
// Statements run with the rights of a user who can do anything to the catalog and nothing to the
// machine: no files, no URLs, no other servers. One hole is known: no grant covers the function
// file, and parseStatement does not see it in an SQL text that is itself a string (a column's
// default in a structure, additional_result_filter).
//
// The package loads the library through purego, which makes a program that imports it link the C
// library dynamically. The tracker therefore never imports it: it runs kubevoltracker-clickhouse as
// a child process (package catalog/engine).
package embedded
