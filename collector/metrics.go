package collector

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

type metrics struct {
	events, lists, failures                 map[fact.Kind]prometheus.Counter
	lastEvent, lastSeen, objects, available map[fact.Kind]prometheus.Gauge
	kubeletReads, kubeletFailures, pauses   prometheus.Counter
	kubeletRefused                          map[inventory.Refusal]prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, kinds []fact.Kind) *metrics {
	counter := func(name, help string) map[fact.Kind]prometheus.Counter {
		vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"kind"})
		return perKind(reg, kinds, vec, vec.WithLabelValues)
	}
	gauge := func(name, help string) map[fact.Kind]prometheus.Gauge {
		vec := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"kind"})
		return perKind(reg, kinds, vec, vec.WithLabelValues)
	}
	m := &metrics{
		events:    counter("kubevoltracker_watch_events_total", "Events received from the watches of the API server."),
		lists:     counter("kubevoltracker_watch_lists_total", "Lists received from the API server; more than one means that a watch could not be resumed."),
		failures:  counter("kubevoltracker_watch_failures_total", "Lists and watches that failed; each is tried again."),
		lastEvent: gauge("kubevoltracker_watch_last_event_timestamp_seconds", "When the last event or list of this kind was taken in, in seconds since the Unix epoch."),
		lastSeen:  gauge("kubevoltracker_watch_last_seen_timestamp_seconds", "When the watch of this kind was last known to be up: an event came, a list, or the bookmark that the API server sends each minute while nothing happens. In seconds since the Unix epoch; 0 before the first."),
		objects:   gauge("kubevoltracker_inventory_objects", "Objects in memory, without pods that mount no storage."),
		available: gauge("kubevoltracker_watch_available", "1 if the API server shows this kind, 0 if it does not serve it or does not allow us to see it. Absent for a kind that --no-collector.… switches off."),
	}
	factory := promauto.With(reg)
	m.kubeletReads = factory.NewCounter(prometheus.CounterOpts{
		Name: "kubevoltracker_kubelet_reads_total", Help: "Times that a kubelet was asked how full the volumes of its pods are.",
	})
	m.kubeletFailures = factory.NewCounter(prometheus.CounterOpts{
		Name: "kubevoltracker_kubelet_failures_total", Help: "Times that a kubelet was asked how full the volumes of its pods are, and did not answer. Its last report stays in use.",
	})
	refused := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "kubevoltracker_kubelet_refused_samples_total", Help: "Volumes of which a kubelet reported how full they are, and was not believed. Reason: no such pod runs (pod); the pod is on another node (node), or does not use that claim (claim); the time of the report cannot be (time), or its figures cannot (figures).",
	}, []string{"reason"})
	m.kubeletRefused = map[inventory.Refusal]prometheus.Counter{}
	for _, reason := range append(inventory.Refusals(), refusedFigures) {
		m.kubeletRefused[reason] = refused.WithLabelValues(string(reason))
	}
	m.pauses = factory.NewCounter(prometheus.CounterOpts{
		Name: "kubevoltracker_watch_pauses_total", Help: "Times that the tracker did not run for more than a second: it was stopped or throttled, or its machine was suspended. What happened meanwhile is dated with bounds.",
	})
	for _, kind := range kinds {
		m.available[kind].Set(1)
	}
	return m
}

// seen records the moment at which a kind's watch was last known to be up.
func (m *metrics) seen(kind fact.Kind, at fact.Time) {
	m.lastSeen[kind].Set(float64(at/1e3) / 1e3)
}

// perKind registers vec and creates the series of these kinds at once.
func perKind[M any](reg prometheus.Registerer, kinds []fact.Kind, vec prometheus.Collector, with func(...string) M) map[fact.Kind]M {
	reg.MustRegister(vec)
	series := map[fact.Kind]M{}
	for _, kind := range kinds {
		series[kind] = with(string(kind))
	}
	return series
}
