// Package catalog owns the schema of the history in ClickHouse, and asks it: Migrate, Retain and RollUp change tables;
// Insert writes blocks; RunReport and Query answer.
//
// Open makes the connection. The files in migrations/ make the tables, and those in reports/ are the questions that
// RunReport answers. Gaps returns the times in which no tracker watched. Questions flow in; results flow out row by row,
// and are written as a table, JSON, CSV, YAML or markdown (Result). Package ingest, which writes the rows, builds on Insert and Each.
//
// The catalog speaks clickhouse-go/v2 and nothing else, to a server and to the embedded engine alike. It imports
// no other package of the project: its SQL alone knows what the rows mean.
//
// It promises: an answer has the newest version of each row (reports that say FINAL themselves may read older ones to
// find rows faster); Insert returns once the rows are on disk; a block may be sent twice, because each table merges rows
// with equal keys; an error of the connection is one line that names the cure (see Error).
package catalog
