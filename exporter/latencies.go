package exporter

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// latencyID is a histogram family, by its place in latencyFamilies. They measure how long users wait for storage.
type latencyID uint8

const (
	claimBind latencyID = iota
	podStorageWait
	latencyCount
)

type latencyFamily struct {
	name, help string
	labels     []string
}

var latencyFamilies = [latencyCount]latencyFamily{
	claimBind: {
		"claim_bind_duration_seconds",
		"Time from a PersistentVolumeClaim's creation until it was bound. For a class that binds at first use (WaitForFirstConsumer) this includes the wait for a pod.",
		[]string{"storageclass"}},
	podStorageWait: {
		"pod_storage_wait_seconds",
		"Time from the scheduling of a pod that mounts storage until its first container started: attach, mount and image pull.", nil},
}

var latencyDescs = func() (descs [latencyCount]*prometheus.Desc) {
	for i, f := range latencyFamilies {
		descs[i] = prometheus.NewDesc(prefix+"_"+f.name, f.help, f.labels, nil)
	}
	return descs
}()

// latency is one series of a histogram family; class is empty in a family without labels.
type latency struct {
	family latencyID
	class  string
}

// measuredBy returns the series that observes the duration of a change. No series observes a change whose duration is
// unknown, or that the first list found.
func measuredBy(c *fact.Change) (l latency, measured bool) {
	switch {
	case c.Found || !c.Measured:
		return latency{}, false
	case c.Kind == kindClaim && c.Action == fact.Bound:
		return latency{claimBind, c.StorageClass}, true
	case c.Kind == kindPod && c.Action == fact.Started:
		return latency{family: podStorageWait}, true
	}
	return latency{}, false
}

// startLatency returns the histogram of a series, and begins it at 0 if there is none.
func (t *Tally) startLatency(l latency) *histogram {
	h := t.latencies[l]
	if h == nil {
		h = newHistogram(l, fact.At(t.now()))
		t.latencies[l] = h
	}
	return h
}

// observe records the duration of a change that has one.
func (t *Tally) observe(c *fact.Change) {
	l, ok := measuredBy(c)
	if !ok {
		return
	}
	t.startLatency(l).observe(c.Took)
	if t.changedLatencies != nil {
		t.changedLatencies[l] = struct{}{}
	}
}

// knowClass starts the histogram of a storage class at 0.
func (c counters) knowClass(storageClass string) {
	c.tally.startLatency(latency{claimBind, storageClass})
}

// latencyBounds are the upper bounds of the classic buckets, in seconds: a local provisioner takes a second, a cloud
// disk half a minute, and a broken provisioner an hour, until somebody repairs it.
var latencyBounds = [...]float64{0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600}

func boundOf(took time.Duration) int {
	for i, bound := range latencyBounds {
		if took.Seconds() <= bound {
			return i
		}
	}
	return len(latencyBounds)
}
