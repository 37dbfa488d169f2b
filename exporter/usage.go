package exporter

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// usage is a copy of the counters, latencies and gauges of one moment. The exporter copies them under its lock. A registry
// sorts and checks them afterwards, without the lock: that takes several times as long as the copy.
type usage []copied

// copied is a metric whose value has been read: a prometheus.Metric that does not change.
type copied struct {
	desc   *prometheus.Desc
	metric *dto.Metric
}

func (w copied) Desc() *prometheus.Desc { return w.desc }

func (w copied) Write(m *dto.Metric) error {
	m.Label, m.Gauge, m.Counter, m.Histogram = w.metric.Label, w.metric.Gauge, w.metric.Counter, w.metric.Histogram
	return nil
}

var overLimitDesc = prometheus.NewDesc(prefix+"_metrics_volumes_over_limit",
	"How many volumes have no series of their own because --metrics.max-volumes have them already. Above 0, alerts on single volumes do not see them.", nil, nil)

var (
	coverageSinceDesc = prometheus.NewDesc(prefix+"_coverage_since_timestamp_seconds",
		"Since when pods have been watched without a miss, in seconds since the Unix epoch. A restart after which the watch resumes misses nothing. Absent until pods have been listed.", nil, nil)
	coverageGapDesc = prometheus.NewDesc(prefix+"_coverage_last_gap_seconds",
		"How long the gap was that ended at coverage_since_timestamp_seconds: for so long no tracker watched pods, and what came and went meanwhile is not known. 0 if there was none before.", nil, nil)
)

// copyUsage copies the metrics. The caller holds the lock.
func (e *Exporter) copyUsage() (u usage, err error) {
	add := func(m prometheus.Metric) {
		w := copied{m.Desc(), &dto.Metric{}}
		if failed := m.Write(w.metric); failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", w.desc, failed))
			return
		}
		u = append(u, w)
	}
	e.counters.each(add)
	_, over := e.volumes.shown()
	add(prometheus.MustNewConstMetric(overLimitDesc, prometheus.GaugeValue, float64(over)))
	if since, gap := e.watched.current(); since != 0 {
		add(prometheus.MustNewConstMetric(coverageSinceDesc, prometheus.GaugeValue, float64(since)/1e6))
		add(prometheus.MustNewConstMetric(coverageGapDesc, prometheus.GaugeValue, float64(gap/1e6)))
	}
	return u, err
}

// Describe and Collect implement prometheus.Collector.
func (usage) Describe(ch chan<- *prometheus.Desc) {
	for _, descs := range [][]*prometheus.Desc{counterDescs[:], latencyDescs[:], byteSecondsDescs[:], {overLimitDesc, coverageSinceDesc, coverageGapDesc}} {
		for _, d := range descs {
			ch <- d
		}
	}
}

func (u usage) Collect(ch chan<- prometheus.Metric) {
	for _, w := range u {
		ch <- w
	}
}

// families returns the metrics by family, in the order of names and labels.
func (u usage) families() ([]*dto.MetricFamily, error) {
	registry := prometheus.NewRegistry()
	if err := registry.Register(u); err != nil {
		return nil, err
	}
	return registry.Gather()
}
