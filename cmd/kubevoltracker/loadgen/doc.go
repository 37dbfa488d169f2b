// Package loadgen makes storage churn in a test cluster, keeps an account of it, and compares a catalog with that
// account.
//
// A plan (plan.go) is a sequence of steps that depends on the seed, the profile and the counts alone. Run carries it
// out at the given rate: it creates, changes and deletes volumes, claims, pods, jobs and stateful sets. Meanwhile the
// observer (observer.go) watches these objects and those that the controllers make for them. Each request with its
// answer, and each observed change, is one line of JSON: the account (account.go). Verify reads an account, computes
// which rows a catalog must have (truth*.go), and compares. It shares no code with the tracker's inference.
//
// The package promises to touch nothing that it did not make. It changes only a cluster that carries the marker
// (guard.go). Its objects carry the label Label with the ID of their run, and an owner where the API permits one; it
// updates and deletes an object only by the UID that the API server gave it.
package loadgen
