// Package fact is what flows out of the inventory, and what another inventory needs to go on:
// rows for the catalog (Facts), the present states of volumes, claims and classes for the
// exporter (VolumeState and its like), and snapshots for a restart (Snapshot).
//
// It has types alone, so that whoever reads facts need not know how they are inferred:
// catalog and exporter import this package and not collector/inventory. Moments are
// microseconds (Time), sizes are bytes.
package fact
