// Package compare measures the tracker beside kube-state-metrics, on the same objects of the same API server, and
// inventory and exporter alone on more objects than an API server here can hold.
//
// `make compare` runs it; `make test` skips it. Times are printed and judged, and never fail a test: see
// docs/performance.md.
package compare
