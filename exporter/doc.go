// Package exporter serves the present state of volumes and claims: metrics for
// Prometheus, health for the kubelet, and a landing page for people.
//
// The collector's goroutine calls [Exporter.Apply] with one *fact.Update per event,
// or one for a whole list, and never waits for a scrape. The exporter serves the
// families that docs/metrics.md lists, in the text format, OpenMetrics and protobuf,
// plain or by gzip or zstd.
//
// It promises:
//
//   - One scrape shows one moment. A scrape reads all state of the inventory under
//     one lock, between two updates: never half a list.
//   - The next scrape lacks the series of a deleted volume, and of a namespace and
//     class whose last claim was deleted.
//   - Cost follows change. Apply renders a volume's labels and values as text when
//     the volume changes. A scrape copies the list of these texts (8 bytes a volume)
//     under the lock and writes them after it has released the lock, so a slow
//     reader delays neither the collector nor other scrapes.
//   - Counters count the events that the tracker observed, also those that it
//     caught up with after a restart; they do not count objects that the first list
//     found. They continue from the [Tally] of an earlier run, as histograms do.
//   - Byte-seconds are exact integrals over time, whatever the times of the scrapes
//     (integral.go), and never decrease.
//
// The package writes nothing to disk. The clock in [Options] dates its
// states and counters; deadlines of scrapes use the real one.
package exporter
