// Package e2e runs the built programs against one local control plane and compares what they say with what the API server
// says.
//
// Each test has a namespace, a tracker and a data directory of its own, so that the tests run at once: they wait for
// controllers half of the time. Those that change what all trackers share, such as the API server or the rights of
// deploy/rbac.yaml, have a second control plane (alone_test.go). The month (month_test.go) plays a month of storage in a
// minute, a chapter a file, and compares the whole catalog with the audit log.
package e2e
