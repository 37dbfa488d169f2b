// Package fact has the types that the inventory emits, and that another inventory needs to
// continue: rows for the catalog (Facts), the present states of volumes, claims and classes for the
// exporter (VolumeState and similar types), and snapshots for a restart (Snapshot).
//
// It contains types alone, so that readers of facts need not know how they are inferred: catalog
// and exporter import this package and not collector/inventory. Moments are microseconds (Time),
// sizes are bytes.
package fact
