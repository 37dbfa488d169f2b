package exporter

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// byteSeconds are the integrals over time of the space of a namespace and storage class: of the capacity of its claims, and
// of the size of its idle volumes. Each change counts from its event's own time.
//
// After a restart, the record of the run before has the byte-seconds until its last change. The claims and volumes that the
// journal restores count from that moment on, as if they had been bound in between. Later events count from
// their own time, which can be earlier: the run before may have ended before an older event reached it.
//
// That requires that record and restored objects have the same bytes. Where they do not, as when the class of a claim is gone,
// everything counts from the record's last change on, in later runs too.
//
// A counter must not decrease: Prometheus takes that for a reset, and counts all of the value again. A late event can lower
// the value: it says that a volume has been in use for a second. Then a scrape shows highestShown until the value has caught up.
type byteSeconds struct {
	namespace, class string
	since            fact.Time // of both counters
	last             fact.Time // of the latest change
	integrals        [byteSecondsCount]integral
	countsFrom       [byteSecondsCount]fact.Time // no change counts from an earlier moment: the runs before have counted until then
	keptCountsFrom   [byteSecondsCount]fact.Time // countsFrom of later runs, too; 0 where bytesAtStop was always right
	restoring        bool                        // the restored objects are still arriving
	bytesAtStop      [byteSecondsCount]total     // when the run before ended, to compare with those of the restored objects
	highestShown     [byteSecondsCount]total     // by a scrape; after a restart, the highest that the run before can have shown

	pairs   []*dto.LabelPair
	created *timestamppb.Timestamp
}

// byteSecondsID is a counter family of byte-seconds.
type byteSecondsID uint8

const (
	capacityByteSeconds byteSecondsID = iota
	idleByteSeconds
	byteSecondsCount
)

var byteSecondsFamilies = [byteSecondsCount]struct{ name, help string }{
	capacityByteSeconds: {
		"namespace_capacity_byte_seconds_total",
		"Space that the namespace's bound claims have been given, times the seconds for which they had it: the integral of namespace_capacity_bytes. rate() over it is the average space in bytes, and increase() what to charge for."},
	idleByteSeconds: {
		"namespace_idle_byte_seconds_total",
		"Size of the namespace's bound volumes, times the seconds for which no container used them and no pod awaited them: the integral of namespace_idle_bytes."},
}

var byteSecondsDescs = func() (descs [byteSecondsCount]*prometheus.Desc) {
	for i, f := range byteSecondsFamilies {
		descs[i] = prometheus.NewDesc(prefix+"_"+f.name, f.help, byClaim, nil)
	}
	return descs
}()

// change adds to the bytes of one of the two from a moment on.
func (b *byteSeconds) change(id byteSecondsID, bytes int64, from fact.Time) {
	from = max(from, b.countsFrom[id])
	b.integrals[id].change(bytes, from)
	b.last = max(b.last, from)
	if from < b.since {
		b.since, b.created = from, nil
	}
}

// value returns what a scrape shows at a moment.
func (b *byteSeconds) value(id byteSecondsID, now fact.Time) total {
	if v := b.integrals[id].at(now); b.highestShown[id].less(v) {
		b.highestShown[id] = v
	}
	return b.highestShown[id]
}

// byteSecondsSample is a series at a moment: a prometheus.Metric.
type byteSecondsSample struct {
	*byteSeconds
	id    byteSecondsID
	value float64
}

func (s byteSecondsSample) Desc() *prometheus.Desc { return byteSecondsDescs[s.id] }

func (s byteSecondsSample) Write(m *dto.Metric) error {
	if s.pairs == nil {
		s.pairs = prometheus.MakeLabelPairs(s.Desc(), []string{s.namespace, s.class})
	}
	if s.created == nil {
		s.byteSeconds.created = timestamppb.New(s.since.Time())
	}
	m.Label, m.Counter = s.pairs, &dto.Counter{Value: &s.value, CreatedTimestamp: s.created}
	return nil
}

// restoresBytes reports whether states of the run before are still to come; p may be nil.
func (p *tallyPart) restoresBytes() bool {
	if p != nil {
		for _, b := range p.bytes {
			if b.restoring {
				return true
			}
		}
	}
	return false
}

// bytes returns the byte-seconds of a namespace and class, for a change from a moment on.
func (t *Tally) bytes(k groupKey, from fact.Time) *byteSeconds {
	p := t.part(k.namespace)
	if p.bytes == nil {
		p.bytes = map[string]*byteSeconds{}
	}
	b := p.bytes[k.storageClass]
	if b == nil {
		from = max(from, t.begun)
		b = &byteSeconds{namespace: k.namespace, class: k.storageClass, since: from, last: from}
		b.countsFrom = [byteSecondsCount]fact.Time{t.begun, t.begun}
		p.bytes[k.storageClass] = b
	}
	t.touchBytes(k.namespace)
	return b
}

// capacitySince returns since when a claim's capacity counts that was bound at a moment, 0 if unknown. The run before has counted
// the claims that are restored, but for those that awaited their volumes, until its last change: a record is in the journal no
// later than the states that it follows from. If a claim's class is gone meanwhile, the run before has counted it under that
// class, and it counts as of now under fact.UnknownClass. A claim that was bound at an unknown moment counts since it was observed.
func (t *Tally) capacitySince(k groupKey, bound, observed fact.Time) fact.Time {
	p := t.parts[k.namespace]
	if !p.restoresBytes() {
		return momentOr(bound, observed)
	}
	if b := p.bytes[k.storageClass]; b != nil && b.restoring {
		return b.countsFrom[capacityByteSeconds]
	}
	return observed
}

func (t *Tally) touchBytes(namespace string) {
	if t.changedBytes != nil {
		t.changedBytes[namespace] = struct{}{}
	}
}

func (t *Tally) changeBytes(id byteSecondsID, k groupKey, bytes int64, from fact.Time) {
	if bytes != 0 {
		t.bytes(k, from).change(id, bytes, from)
	}
}

// eachByteSeconds calls add with the byte-seconds of all namespaces.
func (t *Tally) eachByteSeconds(add func(prometheus.Metric)) {
	now := fact.At(t.now())
	for _, p := range t.parts {
		for _, b := range p.bytes {
			for id := range byteSecondsCount {
				add(byteSecondsSample{b, id, b.value(id, now).seconds()})
			}
		}
	}
}

// bytesRecordPrefix begins the names of the records of byte-seconds: the namespace follows, or nothing in the record
// that says since when byte-seconds are counted.
const bytesRecordPrefix = "/byte-seconds/"

// bytesRecord is the encoded form of a namespace's byte-seconds: some 250 bytes a class.
type bytesRecord struct {
	Begun   fact.Time                   `json:",omitempty"`
	Gone    fact.Time                   `json:",omitempty"`
	Classes map[string]bytesClassRecord `json:",omitempty"`
}

// bytesClassRecord has the integrals as they are after the latest change, which is all that their values at any later
// moment depend on: a namespace is not written again as long as nothing changes.
type bytesClassRecord struct {
	Since, Last    fact.Time
	Floors         [byteSecondsCount]fact.Time
	Capacity, Idle [3]string // base, rate, shown
}

// frozenBytes are a namespace's byte-seconds as they were after an update. To copy them takes less time than to encode them,
// and most updates are followed by others before the next commit.
type frozenBytes struct {
	begun, gone fact.Time
	classes     map[string]*byteSeconds
}

// MarshalJSON encodes them as a bytesRecord.
func (f *frozenBytes) MarshalJSON() ([]byte, error) {
	r := bytesRecord{Begun: f.begun, Gone: f.gone}
	if f.classes != nil {
		r.Classes = map[string]bytesClassRecord{}
	}
	for class, b := range f.classes {
		r.Classes[class] = b.record()
	}
	return json.Marshal(r)
}

// freezeBytes adds the byte-seconds that have changed since the last call to the records.
func (e *Exporter) freezeBytes(records map[string]any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.counters.tally
	for namespace := range t.changedBytes {
		name, p := bytesRecordPrefix+namespace, t.parts[namespace]
		if p.restoresBytes() {
			continue // until it has all: what is in the journal is still right
		}
		delete(t.changedBytes, namespace)
		switch {
		case namespace == clusterPart:
			records[name] = &frozenBytes{begun: t.begun}
		case p == nil || len(p.bytes) == 0:
			records[name] = nil
		default:
			f := &frozenBytes{gone: p.gone, classes: make(map[string]*byteSeconds, len(p.bytes))}
			for class, b := range p.bytes {
				frozen := *b
				f.classes[class] = &frozen
			}
			records[name] = f
		}
	}
}

func (b *byteSeconds) record() bytesClassRecord {
	r := bytesClassRecord{Since: b.since, Last: b.last, Floors: b.keptCountsFrom}
	for id, texts := range r.texts() {
		n := &b.integrals[id]
		*texts = [3]string{n.base.digits(), n.rate.digits(), b.highestShown[id].digits()}
	}
	return r
}

func (r *bytesClassRecord) texts() [byteSecondsCount]*[3]string {
	return [byteSecondsCount]*[3]string{capacityByteSeconds: &r.Capacity, idleByteSeconds: &r.Idle}
}

// restoreBytes reads a record into the parts. The claims and volumes of the run before are not in the integrals that
// it makes: their states arrive with the first updates, and count from the record's last change on.
func (t *Tally) restoreBytes(name string, data []byte) error {
	var r bytesRecord
	if err := json.Unmarshal(data, &r); err != nil {
		return fmt.Errorf("the record %s cannot be read: %w", name, err)
	}
	now := fact.At(t.now())
	namespace := strings.TrimPrefix(name, bytesRecordPrefix)
	if namespace == clusterPart {
		t.begun = min(r.Begun, now)
		return nil
	}
	p := t.part(namespace)
	p.gone, p.bytes = max(p.gone, r.Gone), map[string]*byteSeconds{}
	var errs []error
	for class, c := range r.Classes {
		b := &byteSeconds{namespace: namespace, class: class, since: c.Since, last: min(c.Last, now)}
		if !b.restore(&c, now) {
			errs = append(errs, fmt.Errorf("the record %s has numbers that cannot be right; the byte-seconds of the class %q begin anew", name, class))
			continue
		}
		p.bytes[class] = b
	}
	return errors.Join(errs...)
}

func (b *byteSeconds) restore(r *bytesClassRecord, now fact.Time) (ok bool) {
	b.restoring = true
	for id, texts := range r.texts() {
		b.keptCountsFrom[id] = min(r.Floors[id], now)
		var n [3]total
		for i, digits := range texts {
			if n[i], ok = totalFrom(digits); !ok {
				return false
			}
		}
		before := integral{base: n[0], rate: n[1]}
		b.countsFrom[id], b.bytesAtStop[id] = b.last, before.rate
		b.integrals[id].base = before.at(b.countsFrom[id])
		b.highestShown[id] = n[2]
		for _, t := range []fact.Time{r.Last, now} {
			if v := before.at(t); b.highestShown[id].less(v) { // the highest that the run before can have shown
				b.highestShown[id] = v
			}
		}
	}
	return true
}

// resumed ends what restoreBytes began: all states of the run before have arrived. Where the records agree with them, nothing
// that comes from now on is in the records, and it counts from its own time.
func (t *Tally) resumed() {
	for namespace, p := range t.parts {
		for _, b := range p.bytes {
			b.restoring = false
			for id := range byteSecondsCount {
				if b.integrals[id].rate != b.bytesAtStop[id] {
					b.keptCountsFrom[id] = b.countsFrom[id]
					t.touchBytes(namespace)
				}
				b.countsFrom[id] = max(t.begun, b.keptCountsFrom[id])
			}
		}
	}
}

// begin sets from when on byte-seconds are counted, unless an earlier run has: what was bound before does not count.
func (t *Tally) begin(at fact.Time) {
	if t.begun == 0 {
		t.begun = at
		t.touchBytes(clusterPart)
	}
}
