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
	return u, err
}

// Describe and Collect implement prometheus.Collector.
func (usage) Describe(ch chan<- *prometheus.Desc) {
	for _, descs := range [][]*prometheus.Desc{counterDescs[:], latencyDescs[:], byteSecondsDescs[:], {overLimitDesc}} {
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
