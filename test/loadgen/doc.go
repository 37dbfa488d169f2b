// Package loadgen tests kubevoltracker loadgen on a local cluster: each profile, compared with the catalog of a tracker;
// that verify finds what was changed in a catalog; and that a run touches nothing but its own.
package loadgen
