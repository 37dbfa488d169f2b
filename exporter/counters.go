package exporter

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

// The kinds whose changes are counted, as Change.Kind spells them.
const (
	kindVolume = "PersistentVolume"
	kindClaim  = "PersistentVolumeClaim"
	kindPod    = "Pod"
)

// counters count what happened. A pair of labels starts at 0 when an object that
// has it is first seen, not when something first happens to it: increase() and
// rate() see only steps between two samples.
//
// The pairs of a namespace stay when its last claim has gone, or the step that
// its deletion made would never be scraped; a cluster with many short-lived
// namespaces pays some 300 bytes for each until the tracker restarts.
type counters struct {
	volumesCreated, volumesDeleted                           *prometheus.CounterVec
	claimsCreated, claimsDeleted, claimsBound, claimsResized *prometheus.CounterVec
	mountsStarted, mountsEnded                               *prometheus.CounterVec
	disagreements                                            prometheus.Counter
	knownVolumes                                             map[volumePair]struct{}
	knownMounts                                              map[string]struct{} // namespaces
}

type volumePair struct{ storageClass, source string }

func newCounters(reg prometheus.Registerer) counters {
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: prefix, Name: name, Help: help}, labels)
		reg.MustRegister(c)
		return c
	}
	disagreements := prometheus.NewCounter(prometheus.CounterOpts{
		Namespace: prefix, Name: "unused_disagreements_total",
		Help: "Times that the API's condition Unused of a PersistentVolumeClaim and the tracker differed for over a minute.",
	})
	reg.MustRegister(disagreements)
	return counters{
		disagreements: disagreements,
		volumesCreated: vec("volumes_created_total",
			"PersistentVolumes created, by storage class and kind of backing store. What was there when the tracker first looked does not count.",
			"storageclass", "source"),
		volumesDeleted: vec("volumes_deleted_total",
			"PersistentVolumes deleted, by storage class and kind of backing store.",
			"storageclass", "source"),
		claimsCreated: vec("claims_created_total",
			"PersistentVolumeClaims created. What was there when the tracker first looked does not count.",
			"namespace", "storageclass"),
		claimsDeleted: vec("claims_deleted_total",
			"PersistentVolumeClaims deleted.", "namespace", "storageclass"),
		claimsBound: vec("claims_bound_total",
			"Times that a PersistentVolumeClaim was bound to a volume.", "namespace", "storageclass"),
		claimsResized: vec("claims_resized_total",
			"Times that the size of a PersistentVolumeClaim changed.", "namespace", "storageclass"),
		mountsStarted: vec("mounts_started_total",
			"Times that a container began to use a volume.", "namespace"),
		mountsEnded: vec("mounts_ended_total",
			"Times that a container's use of a volume ended. A restart of the container does not end it.", "namespace"),
		knownVolumes: map[volumePair]struct{}{},
		knownMounts:  map[string]struct{}{},
	}
}

// knowClaims starts the counters of a namespace's claims of a class.
func (c *counters) knowClaims(namespace, storageClass string) {
	c.claimsCreated.WithLabelValues(namespace, storageClass)
	c.claimsDeleted.WithLabelValues(namespace, storageClass)
	c.claimsBound.WithLabelValues(namespace, storageClass)
	c.claimsResized.WithLabelValues(namespace, storageClass)
	c.knowMounts(namespace)
}

// knowVolumes starts the counters of a class's volumes on a kind of store.
func (c *counters) knowVolumes(storageClass, source string) {
	p := volumePair{storageClass, source}
	if _, ok := c.knownVolumes[p]; ok {
		return
	}
	c.knownVolumes[p] = struct{}{}
	c.volumesCreated.WithLabelValues(storageClass, source)
	c.volumesDeleted.WithLabelValues(storageClass, source)
}

// knowMounts starts the counters of a namespace's mounts.
func (c *counters) knowMounts(namespace string) {
	if _, ok := c.knownMounts[namespace]; ok {
		return
	}
	c.knownMounts[namespace] = struct{}{}
	c.mountsStarted.WithLabelValues(namespace)
	c.mountsEnded.WithLabelValues(namespace)
}

// count counts a change; the caller has left out what was merely found.
func (c *counters) count(ch *inventory.Change) {
	switch ch.Action {
	case inventory.Mounted:
		c.knowMounts(ch.Namespace)
		c.mountsStarted.WithLabelValues(ch.Namespace).Inc()
		return
	case inventory.Unmounted:
		c.knowMounts(ch.Namespace)
		c.mountsEnded.WithLabelValues(ch.Namespace).Inc()
		return
	case inventory.Disputed:
		c.disagreements.Inc()
		return
	}
	var vec *prometheus.CounterVec
	switch ch.Kind {
	case kindVolume:
		switch ch.Action {
		case inventory.Created:
			vec = c.volumesCreated
		case inventory.Deleted:
			vec = c.volumesDeleted
		default:
			return
		}
		c.knowVolumes(ch.StorageClass, ch.SourceKind)
		vec.WithLabelValues(ch.StorageClass, ch.SourceKind).Inc()
	case kindClaim:
		switch ch.Action {
		case inventory.Created:
			vec = c.claimsCreated
		case inventory.Deleted:
			vec = c.claimsDeleted
		case inventory.Bound:
			vec = c.claimsBound
		case inventory.Resized:
			vec = c.claimsResized
		default:
			return
		}
		vec.WithLabelValues(ch.Namespace, ch.StorageClass).Inc()
	}
}
