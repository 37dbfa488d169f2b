package exporter

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// latencies measure how long users wait for storage. Each is a native histogram, which Prometheus
// stores if it asks for protobuf, and a classic histogram for all other readers.
type latencies struct {
	claimBind      *prometheus.HistogramVec
	podStorageWait prometheus.Histogram
}

func newLatencies(reg prometheus.Registerer) latencies {
	opts := func(name, help string) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{
			Namespace: prefix,
			Name:      name,
			Help:      help,
			// A local provisioner takes a second, a cloud disk half a minute, and a broken
			// provisioner an hour, until somebody repairs it.
			Buckets:                         []float64{0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600},
			NativeHistogramBucketFactor:     1.1,
			NativeHistogramMaxBucketNumber:  160,
			NativeHistogramMinResetDuration: time.Hour,
		}
	}
	l := latencies{
		claimBind: prometheus.NewHistogramVec(opts("claim_bind_duration_seconds",
			"Time from a PersistentVolumeClaim's creation until it was bound. For a class that binds at first use (WaitForFirstConsumer) this includes the wait for a pod."),
			[]string{"storageclass"}),
		podStorageWait: prometheus.NewHistogram(opts("pod_storage_wait_seconds",
			"Time from the scheduling of a pod that mounts storage until its first container started: attach, mount and image pull.")),
	}
	reg.MustRegister(l.claimBind, l.podStorageWait)
	return l
}

// knowClass starts the histogram of a storage class at 0.
func (l *latencies) knowClass(storageClass string) { l.claimBind.WithLabelValues(storageClass) }

// observe records the duration of a change that has one.
func (l *latencies) observe(c *fact.Change) {
	switch {
	case c.Took <= 0: // unknown
	case c.Kind == kindClaim && c.Action == fact.Bound:
		l.claimBind.WithLabelValues(c.StorageClass).Observe(c.Took.Seconds())
	case c.Kind == kindPod && c.Action == fact.Started:
		l.podStorageWait.Observe(c.Took.Seconds())
	}
}
