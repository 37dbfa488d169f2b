// Package exporter serves what the tracker knows about the present: metrics for
// Prometheus, health for the kubelet, and a landing page for people.
//
// In flows one *fact.Update per event, or one for a whole list, through
// [Exporter.Apply]; the collector's goroutine calls it and never waits for a
// scrape. Out flow the families of docs/metrics.md, in the text format,
// OpenMetrics and protobuf.
//
// It promises:
//
//   - One scrape is one moment. All that comes from the inventory is read under
//     one lock, between two updates: never half a list.
//   - The series of a deleted volume, or of a namespace and class whose last
//     claim is gone, are absent from the next scrape.
//   - Cost follows change. A volume's labels and values become text when the
//     volume changes; a scrape takes the list of these texts (8 bytes a volume)
//     under the lock and writes them after it has let go of it, so a slow reader
//     holds up nobody.
//   - Counters count what happened while the tracker watched, or was caught up
//     with; what the first list merely found is not counted. They go on from a
//     [Tally] that an earlier run has kept.
//
// The package keeps nothing on disk and has no clock of its own but the one in
// [Options].
package exporter
