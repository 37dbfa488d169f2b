package exporter

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// The kinds whose changes are counted, as Change.Kind spells them.
const (
	kindVolume = "PersistentVolume"
	kindClaim  = "PersistentVolumeClaim"
	kindPod    = "Pod"
)

// counterID is a counter family, by its place in counterFamilies.
type counterID uint8

const (
	claimsBound counterID = iota
	claimsCreated
	claimsDeleted
	claimsResized
	mountsEnded
	mountsStarted
	unusedDisagreements
	volumesCreated
	volumesDeleted
	counterCount
)

// counterFamily declares a counter. If its first label is the namespace, its values are stored with
// that namespace, otherwise with the cluster.
type counterFamily struct {
	name, help string
	labels     []string
}

// own returns how many of the labels are the namespace: 1 or 0.
func (f *counterFamily) own() int {
	if len(f.labels) > 0 && f.labels[0] == "namespace" {
		return 1
	}
	return 0
}

var (
	byClaim  = []string{"namespace", "storageclass"}
	byMount  = []string{"namespace"}
	byVolume = []string{"storageclass", "source"}
)

// unknownClassHelp says what is counted under fact.UnknownClass.
const unknownClassHelp = " The class is _unknown as long as no StorageClass and no volume has the class that the claim names."

var counterFamilies = [counterCount]counterFamily{
	claimsBound: {
		"claims_bound_total",
		"Times that a PersistentVolumeClaim was bound to a volume." + unknownClassHelp, byClaim},
	claimsCreated: {
		"claims_created_total",
		"PersistentVolumeClaims created. What was there when the tracker first looked does not count." + unknownClassHelp, byClaim},
	claimsDeleted: {
		"claims_deleted_total",
		"PersistentVolumeClaims deleted." + unknownClassHelp, byClaim},
	claimsResized: {
		"claims_resized_total",
		"Times that the size of a PersistentVolumeClaim changed." + unknownClassHelp, byClaim},
	mountsEnded: {
		"mounts_ended_total",
		"Times that a container's use of a volume ended. A restart of the container does not end it.", byMount},
	mountsStarted: {
		"mounts_started_total",
		"Times that a container began to use a volume.", byMount},
	unusedDisagreements: {
		"unused_disagreements_total",
		"Times that the API's condition Unused of a PersistentVolumeClaim and the tracker differed for over a minute. The catalog's table changes says which, action disputed.", nil},
	volumesCreated: {
		"volumes_created_total",
		"PersistentVolumes created, by storage class and kind of backing store. What was there when the tracker first looked does not count.", byVolume},
	volumesDeleted: {
		"volumes_deleted_total",
		"PersistentVolumes deleted, by storage class and kind of backing store.", byVolume},
}

var counterDescs = func() (descs [counterCount]*prometheus.Desc) {
	for i, f := range counterFamilies {
		descs[i] = prometheus.NewDesc(prefix+"_"+f.name, f.help, f.labels, nil)
	}
	return descs
}()

// series is one series of a counter family, by the values of its labels.
type series struct {
	counter counterID
	values  [2]string
}

func claimSeries(id counterID, namespace, storageClass string) series {
	return series{id, [2]string{namespace, storageClass}}
}

func mountSeries(id counterID, namespace string) series { return series{id, [2]string{namespace}} }

func volumeSeriesOf(id counterID, storageClass, source string) series {
	return series{id, [2]string{storageClass, source}}
}

// part returns the part of a Tally that a series is in.
func (s series) part() string {
	if counterFamilies[s.counter].own() > 0 {
		return s.values[0]
	}
	return clusterPart
}

// countedBy returns the series that counts a change. A change that the first list found did not
// happen now, and no series counts it.
func countedBy(c *fact.Change) (s series, counted bool) {
	if c.Found {
		return series{}, false
	}
	switch c.Action {
	case fact.Mounted:
		return mountSeries(mountsStarted, c.Namespace), true
	case fact.Unmounted:
		return mountSeries(mountsEnded, c.Namespace), true
	case fact.Disputed:
		return series{counter: unusedDisagreements}, true
	}
	type what struct {
		kind   string
		action fact.Action
	}
	switch (what{c.Kind, c.Action}) {
	case what{kindVolume, fact.Created}:
		return volumeSeriesOf(volumesCreated, c.StorageClass, c.SourceKind), true
	case what{kindVolume, fact.Deleted}:
		return volumeSeriesOf(volumesDeleted, c.StorageClass, c.SourceKind), true
	case what{kindClaim, fact.Created}:
		return claimSeries(claimsCreated, c.Namespace, c.StorageClass), true
	case what{kindClaim, fact.Deleted}:
		return claimSeries(claimsDeleted, c.Namespace, c.StorageClass), true
	case what{kindClaim, fact.Bound}:
		return claimSeries(claimsBound, c.Namespace, c.StorageClass), true
	case what{kindClaim, fact.Resized}:
		return claimSeries(claimsResized, c.Namespace, c.StorageClass), true
	}
	return series{}, false
}

// count is the value of one series, and a prometheus.Metric. It creates its labels at the first
// scrape.
type count struct {
	series series
	value  uint64
	since  fact.Time

	labels  []*dto.LabelPair
	created *timestamppb.Timestamp
}

func (n *count) Desc() *prometheus.Desc { return counterDescs[n.series.counter] }

func (n *count) Write(m *dto.Metric) error {
	if n.labels == nil {
		n.labels = prometheus.MakeLabelPairs(n.Desc(), n.series.values[:len(counterFamilies[n.series.counter].labels)])
		n.created = timestamppb.New(n.since.Time())
	}
	value := float64(n.value)
	m.Label = n.labels
	m.Counter = &dto.Counter{Value: &value, CreatedTimestamp: n.created}
	return nil
}

// counters expose a Tally. A series of a counter starts at 0 when an object with its labels is first
// observed, not when its first event is. The series of a deleted namespace stay for an hour:
// a scrape must still see the steps that the deletion made. client_golang's own CounterVec
// takes no created timestamp from an earlier run.
type counters struct{ tally *Tally }

func newCounters(now func() time.Time) counters {
	c := counters{newTally(now)}
	c.tally.changedBytes = map[string]struct{}{}
	c.tally.start(series{counter: unusedDisagreements})
	c.tally.startLatency(latency{family: podStorageWait})
	return c
}

// each calls add with every series.
func (c counters) each(add func(prometheus.Metric)) {
	for _, p := range c.tally.parts {
		for _, n := range p.counts {
			add(n)
		}
	}
	for _, h := range c.tally.latencies {
		add(h)
	}
	c.tally.eachByteSeconds(add)
}

// knowClaims starts the counters of a namespace's claims of a class.
func (c counters) knowClaims(namespace, storageClass string) {
	c.tally.start(claimSeries(claimsCreated, namespace, storageClass))
	c.knowMounts(namespace)
}

// knowVolumes starts the counters of a class's volumes on a kind of store.
func (c counters) knowVolumes(storageClass, source string) {
	c.tally.start(volumeSeriesOf(volumesCreated, storageClass, source))
}

// knowMounts starts the counters of a namespace's mounts.
func (c counters) knowMounts(namespace string) {
	c.tally.start(mountSeries(mountsStarted, namespace))
}
