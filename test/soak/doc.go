// Package soak lets trackers run into every kind of trouble at once, while pods, claims and volumes come and go, and
// compares each catalog with the API server's audit log in the end.
//
// A churn changes storage by a seed. Each trouble has trackers of its own: they are killed, their ClickHouse fails, their
// disk is full, their journal is lost, they are away or stopped for a while, alone or as one of a pair. `make test` does
// that for a quarter of a minute, `make soak` for SOAK_MINUTES.
package soak
