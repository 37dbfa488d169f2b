// Package test holds the tests that need more than one package: who may import whom, and below it what runs the built
// programs. test/e2e compares them with the API server, test/soak with the audit log in trouble of all kinds, and
// test/compare with kube-state-metrics. They share test/harness, which drives the programs, and test/truth, which computes
// what a catalog has to say. Nothing outside of test imports them but other tests.
package test
