package ingest

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
)

// metrics are the metrics of the writer.
type metrics struct {
	rows, rejects  *prometheus.CounterVec
	batches        prometheus.Counter
	failures       prometheus.Counter
	beyond         prometheus.Gauge
	insertDuration prometheus.Histogram
}

func newMetrics(reg prometheus.Registerer, w *Writer) *metrics {
	with := promauto.With(reg)
	m := &metrics{
		rows: with.NewCounterVec(prometheus.CounterOpts{
			Name: "kubevoltracker_catalog_rows_written_total",
			Help: "Rows that ClickHouse has acknowledged, by table.",
		}, []string{"table"}),
		rejects: with.NewCounterVec(prometheus.CounterOpts{
			Name: "kubevoltracker_catalog_rejects_total",
			Help: "Rows that ClickHouse refused for what is in them, by table; they are in the table catalog_rejects.",
		}, []string{"table"}),
		batches: with.NewCounter(prometheus.CounterOpts{
			Name: "kubevoltracker_catalog_batches_total",
			Help: "Batches of rows that were written to ClickHouse completely.",
		}),
		failures: with.NewCounter(prometheus.CounterOpts{
			Name: "kubevoltracker_catalog_failures_total",
			Help: "Attempts to migrate, write or ping that ClickHouse refused or did not answer.",
		}),
		beyond: with.NewGauge(prometheus.GaugeOpts{
			Name: "kubevoltracker_catalog_rows_ahead",
			Help: "Rows whose version was more than a year ahead of the clock when this tracker last took over the catalog: they hide newer rows until they are mended.",
		}),
		insertDuration: with.NewHistogram(prometheus.HistogramOpts{
			Name:                            "kubevoltracker_catalog_insert_duration_seconds",
			Help:                            "How long an attempt to insert one block took, failed ones included.",
			Buckets:                         []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
			NativeHistogramBucketFactor:     1.1,
			NativeHistogramMaxBucketNumber:  100,
			NativeHistogramMinResetDuration: time.Hour,
		}),
	}
	for _, t := range allTables {
		m.rows.WithLabelValues(t.name)
		m.rejects.WithLabelValues(t.name)
	}
	with.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "kubevoltracker_catalog_up",
		Help: "1 if ClickHouse did what it was asked last, else 0.",
	}, func() float64 {
		if w.Up() {
			return 1
		}
		return 0
	})
	return m
}

// RegisterSandbox registers the metric of what confines ClickHouse, which Catalog.Sandboxed says.
func RegisterSandbox(reg prometheus.Registerer, sandboxed func() (confined, known bool)) {
	reg.MustRegister(&sandboxMetric{sandboxed, prometheus.NewDesc("kubevoltracker_catalog_sandboxed",
		"1 if the kernel confines the embedded ClickHouse to its own directory and keeps it off the network, else 0. Absent before its first answer, and for a ClickHouse server.",
		nil, nil)})
}

type sandboxMetric struct {
	sandboxed func() (confined, known bool)
	desc      *prometheus.Desc
}

func (m *sandboxMetric) Describe(descs chan<- *prometheus.Desc) { descs <- m.desc }

func (m *sandboxMetric) Collect(metrics chan<- prometheus.Metric) {
	switch confined, known := m.sandboxed(); {
	case confined:
		metrics <- prometheus.MustNewConstMetric(m.desc, prometheus.GaugeValue, 1)
	case known:
		metrics <- prometheus.MustNewConstMetric(m.desc, prometheus.GaugeValue, 0)
	}
}

// registerJournal registers the metrics of how full a journal is.
func registerJournal(reg prometheus.Registerer, j *journal.Journal) {
	with := promauto.With(reg)
	with.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "kubevoltracker_journal_facts",
		Help: "Rows that wait in the journal for ClickHouse to acknowledge them.",
	}, func() float64 { return float64(j.Stats().Rows) })
	with.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "kubevoltracker_journal_oldest_fact_seconds",
		Help: "How long the oldest row has waited in the journal for ClickHouse; 0 if none waits.",
	}, func() float64 {
		oldest := j.Stats().Oldest
		if oldest.IsZero() {
			return 0
		}
		return max(0, time.Since(oldest).Seconds())
	})
	with.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "kubevoltracker_journal_bytes",
		Help: "Size of the journal's directory on disk.",
	}, func() float64 { return float64(j.Stats().FileBytes) })
}
