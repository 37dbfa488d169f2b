// Package clients has no code outside its tests: the clients of others that ask the embedded
// ClickHouse, by their own libraries, and the types of Grafana, with which the dashboards are
// compared. ClickHouse's client for Go is tested in catalog/embedded.
package clients
