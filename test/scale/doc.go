// Package scale measures the reports on a made-up history of two years that is filled inside ClickHouse: `make
// bench-history`. Without BENCH_HISTORY_MOUNTS its tests are skipped.
package scale
