// Package scale measures the reports on a made-up history of two years that is filled inside ClickHouse, and what the ingest
// takes beside it: `make bench-history`. Without BENCH_HISTORY_MOUNTS its tests are skipped.
package scale
