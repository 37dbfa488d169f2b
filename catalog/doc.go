// Package catalog keeps the history of storage usage in ClickHouse.
//
// It owns the schema (migrations/, applied by Migrate), the way rows get there
// (Writer) and the questions that are asked of it (Query, RunReport).
//
// Facts of the inventory flow in through Writer.Record; they wait in memory until
// ClickHouse has acknowledged them. Tables of results flow out, as text, JSON or
// CSV. The catalog speaks clickhouse-go/v2 and nothing else, to a server or to the
// embedded engine alike; it knows neither the collector nor the exporter.
//
// What it promises: an outage of ClickHouse costs no row and stops nobody, up to
// a stated number of rows in memory; a row that is written again changes nothing
// that a reader sees, as every table is a ReplacingMergeTree on a natural key and
// every question is asked with FINAL; what is wrong with the connection comes back
// as one line that names the cure (see Error).
package catalog
