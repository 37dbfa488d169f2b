// Package clients has no code outside its tests: the clients of others that ask the embedded
// ClickHouse, by their own libraries. That of Go is tested in catalog/embedded.
package clients
