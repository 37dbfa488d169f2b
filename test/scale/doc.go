// Package scale measures the reports on a made-up history of two years that is filled inside ClickHouse (`make bench-history`), and the
// queries of the dashboards on that history and on an exporter with many volumes (`make bench-dashboards`). Without the sizes in the
// environment its tests are skipped.
package scale
