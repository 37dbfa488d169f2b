// Package harness drives the built programs for the tests below test, and for those of cmd/kubevoltracker/app.
//
// It finds the programs in .cache/bin, starts one local control plane that all tests of a package share, starts and
// stops trackers and ClickHouse, puts a proxy that fails on purpose between the two, and asks them: metrics, SQL,
// reports. It also describes the objects that tests create. It judges nothing: package truth computes what a catalog has
// to say, and the tests compare.
//
// A function that takes a testing.TB fails that test when it cannot do what its name says.
package harness

import "context"

// background is the context of requests that no test cuts short.
var background = context.Background()
