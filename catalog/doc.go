// Package catalog reads the history of storage usage, which is kept in ClickHouse, and owns its schema.
//
// It owns the connection (Open), the tables (migrations/, applied by Migrate), the reports (reports/, answered by
// RunReport), and the gaps in which no tracker watched (Gaps). Questions flow in; results flow out row by row, and
// are written as text, JSON or CSV (Result). Package ingest, which writes the rows, builds on Insert and Each.
//
// The catalog speaks clickhouse-go/v2 and nothing else, to a server and to the embedded engine alike. It imports
// no other package of the project: what the rows mean is known to its SQL alone.
//
// What it promises: every question reads only the newest version of each row (every table is a ReplacingMergeTree
// on a natural key, read with FINAL); Insert returns once the rows are on disk, and a block that is sent twice is
// stored once; what is wrong with the connection comes back as one line that names the cure (see Error).
package catalog
