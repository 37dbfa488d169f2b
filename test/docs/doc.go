// Package docs reads the project's documentation for the tests that check it: links, commands, flags and their defaults,
// values of the chart, variables, make targets, SQL, PromQL, metrics, quoted log messages, and the names of tests and files.
//
// The packages of the two programs check what only they can: that each command line parses by their flags, and that
// docs/configure.md has these flags (reference.go). All other checks are in this package's own tests. A check returns
// its findings as text, so that a test can also give it a page with mistakes.
package docs
