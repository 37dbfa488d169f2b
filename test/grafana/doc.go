// Package grafana reads the dashboards of the project for the tests, and does with their queries what Grafana does: it expands the
// variables and macros, and asks ClickHouse by the same client as the ClickHouse data source.
package grafana
