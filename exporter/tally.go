package exporter

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// Tally contains the values of the counters and histograms. The exporter has one that counts the
// updates that it receives. The recorder has another one that counts the rows in the journal, and
// persists it there; those of the next run continue from it (see Exporter.Restore). Only one
// goroutine may use a Tally at a time; Integrals asks the exporter, which has a lock of its own.
//
// Byte-seconds follow from states, which are not among the rows: the exporter's Tally has them, and
// the recorder asks for them with each update (Integrals).
type Tally struct {
	now       func() time.Time
	parts     map[string]*tallyPart // by namespace; clusterPart for counters without one
	latencies map[latency]*histogram
	gone      []string  // namespaces that were deleted, oldest first
	begun     fact.Time // since when byte-seconds are counted; 0 before the first update

	// These three hold what changed since the Tally was last persisted; one is nil where that part is not persisted.
	changed          map[string]struct{} // parts, for their counts
	changedLatencies map[latency]struct{}
	changedBytes     map[string]struct{} // parts, for their byte-seconds

	// freezeBytes is Integrals for the exporter's Tally; nil before Exporter.Restore.
	freezeBytes func(records map[string]any)
}

// tallyPart is the counts of one namespace.
type tallyPart struct {
	counts map[series]*count
	bytes  map[string]*byteSeconds // by storage class
	gone   fact.Time               // when the namespace was deleted
}

// clusterPart has the counts that belong to no namespace.
const clusterPart = ""

// goneFor is how long the counts of a deleted namespace stay: one hour. Each Prometheus must scrape
// their last steps, and a cluster with short-lived namespaces must not collect them forever.
const goneFor = fact.Time(time.Hour / time.Microsecond)

// NewTally returns a Tally at zero for a recorder. The clock dates when counts begin.
func NewTally(now func() time.Time) *Tally {
	t := newTally(now)
	t.changed, t.changedLatencies = map[string]struct{}{}, map[latency]struct{}{}
	return t
}

func newTally(now func() time.Time) *Tally {
	return &Tally{now: now, parts: map[string]*tallyPart{}, latencies: map[latency]*histogram{}}
}

// part returns the part of a namespace, and makes it if there is none.
func (t *Tally) part(namespace string) *tallyPart {
	p := t.parts[namespace]
	if p == nil {
		p = &tallyPart{counts: map[series]*count{}}
		t.parts[namespace] = p
	}
	return p
}

// Add counts the changes in facts.
func (t *Tally) Add(facts *fact.Facts) {
	for i := range facts.Changes {
		if s, ok := countedBy(&facts.Changes[i]); ok {
			t.start(s)
			t.parts[s.part()].counts[s].value++
			t.touch(s.part())
		}
		t.observe(&facts.Changes[i])
	}
	for i := range facts.Namespaces {
		t.noteNamespace(&facts.Namespaces[i])
	}
}

// start begins a series at 0, and with it those of all families that have the same
// labels: increase() and rate() see only steps between two samples.
func (t *Tally) start(s series) {
	p := t.part(s.part())
	if p.counts[s] != nil {
		return
	}
	since := fact.At(t.now())
	for id := range counterCount {
		if sibling := (series{id, s.values}); slices.Equal(counterFamilies[id].labels, counterFamilies[s.counter].labels) && p.counts[sibling] == nil {
			p.counts[sibling] = &count{series: sibling, since: since}
		}
	}
}

func (t *Tally) touch(name string) {
	if t.changed != nil {
		t.changed[name] = struct{}{}
	}
}

// noteNamespace records that a namespace was deleted, and drops the counts of those that
// were deleted more than an hour before it.
func (t *Tally) noteNamespace(n *fact.Namespace) {
	if p := t.parts[n.Name]; p != nil && p.gone != n.DeletedAt {
		t.gone = slices.DeleteFunc(t.gone, func(name string) bool { return name == n.Name })
		if p.gone = n.DeletedAt; p.gone != 0 {
			t.gone = append(t.gone, n.Name)
		}
		t.touch(n.Name)
		t.touchBytes(n.Name)
	}
	if n.DeletedAt != 0 {
		t.forget(n.DeletedAt)
	}
}

func (t *Tally) forget(now fact.Time) {
	for len(t.gone) > 0 && now-t.parts[t.gone[0]].gone > goneFor {
		delete(t.parts, t.gone[0])
		t.touch(t.gone[0])
		t.touchBytes(t.gone[0])
		t.gone = t.gone[1:]
	}
}

// partRecord is the encoded form of the counts of a namespace.
type partRecord struct {
	Gone fact.Time `json:",omitempty"`
	// Counts are by the counter's name, and then by the values of its other labels, with
	// slashes between them, which none of them can have: value and since.
	Counts map[string]map[string][2]int64
}

// recordName is the name of a part's record; no namespace has a slash.
func recordName(part string) string { return cmp.Or(part, "/") }

// Integrals adds the byte-seconds that have changed since the last call, as the exporter's last update has left them, to
// records: values to encode as JSON, or nil if what a record had was dropped.
func (t *Tally) Integrals(records map[string]any) {
	if t.freezeBytes != nil {
		t.freezeBytes(records)
	}
}

// Records returns what has changed since the last call, encoded: the counts by namespace, and the
// histograms under names of their own. A record is nil if what it had was dropped.
// The counts of a namespace take some 300 bytes.
func (t *Tally) Records() (map[string][]byte, error) {
	records := map[string][]byte{}
	for l := range t.changedLatencies {
		data, err := t.latencies[l].record()
		if err != nil {
			return nil, fmt.Errorf("encoding histograms: %w", err)
		}
		records[l.recordName()] = data
	}
	for name := range t.changed {
		data, err := t.parts[name].record()
		if err != nil {
			return nil, err
		}
		records[recordName(name)] = data
	}
	clear(t.changed)
	clear(t.changedLatencies)
	if len(records) == 0 {
		return nil, nil
	}
	return records, nil
}

// record returns the counts of a part, encoded; nil if there is no such part any more.
func (p *tallyPart) record() ([]byte, error) {
	if p == nil {
		return nil, nil
	}
	r := partRecord{Gone: p.gone, Counts: map[string]map[string][2]int64{}}
	for s, n := range p.counts {
		if n.value == 0 {
			continue // it is there again with the first object
		}
		f := &counterFamilies[s.counter]
		if r.Counts[f.name] == nil {
			r.Counts[f.name] = map[string][2]int64{}
		}
		r.Counts[f.name][strings.Join(s.values[f.own():len(f.labels)], "/")] = [2]int64{int64(n.value), int64(n.since)} //nolint:gosec // two's complement, read back the same way
	}
	data, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encoding counters: %w", err)
	}
	return data, nil
}

// Restore reads what Records returned into a Tally at zero. It skips records that it cannot
// read, and returns an error that names them.
func (t *Tally) Restore(records map[string][]byte) error {
	var errs []error
	for name, data := range records {
		var err error
		switch {
		case strings.HasPrefix(name, latencyRecordPrefix):
			err = t.restoreLatency(name, data)
		case strings.HasPrefix(name, bytesRecordPrefix):
			err = t.restoreBytes(name, data)
		default:
			err = t.restorePart(name, data)
		}
		errs = append(errs, err)
	}
	for name, p := range t.parts {
		if p.gone != 0 {
			t.gone = append(t.gone, name)
		}
	}
	slices.SortFunc(t.gone, func(a, b string) int { return cmp.Compare(t.parts[a].gone, t.parts[b].gone) })
	t.forget(fact.At(t.now()))
	return errors.Join(errs...)
}

func (t *Tally) restorePart(name string, data []byte) error {
	var r partRecord
	if err := json.Unmarshal(data, &r); err != nil {
		return fmt.Errorf("the counters of %s cannot be read: %w", name, err)
	}
	if name == recordName(clusterPart) {
		name = clusterPart
	}
	p := t.part(name)
	p.gone = max(p.gone, r.Gone)
	for id := range counterFamilies {
		f := &counterFamilies[id]
		for key, n := range r.Counts[f.name] {
			s := series{counter: counterID(id)}
			values := strings.Split(key, "/")
			if f.own() > 0 {
				s.values[0] = name
			}
			if f.own() == len(f.labels) {
				values = nil
			}
			if f.own()+len(values) != len(f.labels) {
				continue // of another version of this program
			}
			copy(s.values[f.own():], values)
			p.counts[s] = &count{series: s, value: uint64(n[0]), since: fact.Time(n[1])} //nolint:gosec // two's complement, written the same way
		}
	}
	return nil
}

func (t *Tally) restoreLatency(name string, data []byte) error {
	h, err := readLatency(name, data)
	if err == nil {
		t.latencies[h.latency] = h
	}
	return err
}

// adopt adds the values of another Tally, which gives up its byte-seconds.
func (t *Tally) adopt(other *Tally) {
	for l, h := range other.latencies {
		t.startLatency(l).adopt(h)
	}
	t.begun = cmp.Or(t.begun, other.begun)
	for name, from := range other.parts {
		for s, n := range from.counts {
			t.start(s)
			own := t.parts[name].counts[s]
			own.value += n.value
			own.since, own.labels = min(own.since, n.since), nil
		}
		if from.bytes != nil {
			t.part(name).bytes, from.bytes = from.bytes, nil
		}
		if p := t.parts[name]; p != nil && p.gone == 0 {
			p.gone = from.gone
		}
	}
	t.gone = slices.DeleteFunc(slices.Clone(other.gone), func(name string) bool { return t.parts[name] == nil })
}
