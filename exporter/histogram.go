package exporter

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// histogram is a native histogram, which Prometheus stores if it asks for protobuf, and a classic histogram for all
// other readers. It is a prometheus.Metric. client_golang's own Histogram takes no counts of an earlier run, and its
// NewConstNativeHistogram, which encodes this one, observes nothing.
type histogram struct {
	latency
	since   fact.Time
	count   uint64
	sum     float64                        // seconds
	classic [len(latencyBounds) + 1]uint64 // not cumulative; the last bucket has no upper bound
	zero    uint64                         // the native bucket of durations of zero, which have no other native bucket
	schema  int32                          // a native bucket's upper bound is 2^(index / 2^schema)
	native  map[int]int64                  // by index
}

const (
	// finestSchema has buckets that grow by 9 %.
	finestSchema = 3
	// nativeBuckets is the largest number of native buckets: 160, for 20 doublings of the finest schema. When there are
	// more, each two become one.
	nativeBuckets = 160
)

// octave are the upper bounds of the finest schema between 1/2 and 1.
var octave = func() (bounds []float64) {
	for i := range 1 << finestSchema {
		bounds = append(bounds, math.Exp2(float64(i)/(1<<finestSchema)-1))
	}
	return bounds
}()

func newHistogram(l latency, since fact.Time) *histogram {
	return &histogram{latency: l, since: since, schema: finestSchema, native: map[int]int64{}}
}

func (h *histogram) observe(took time.Duration) {
	h.count++
	h.sum += took.Seconds()
	h.classic[boundOf(took)]++
	if took == 0 {
		h.zero++
		return
	}
	fraction, exponent := math.Frexp(took.Seconds())
	index := sort.SearchFloat64s(octave, fraction) + (exponent-1)*len(octave)
	for range finestSchema - h.schema {
		index = coarser(index)
	}
	h.native[index]++
	h.limit()
}

// coarser returns the index of a bucket in the next coarser schema: half of it, rounded up.
func coarser(index int) int { return (index + 1) >> 1 }

func (h *histogram) limit() {
	for len(h.native) > nativeBuckets {
		h.coarsen()
	}
}

func (h *histogram) coarsen() {
	merged := make(map[int]int64, len(h.native)/2+1)
	for index, n := range h.native {
		merged[coarser(index)] += n
	}
	h.native = merged
	h.schema--
}

// adopt adds the observations of another histogram of the same series.
func (h *histogram) adopt(other *histogram) {
	other = other.clone()
	for h.schema > other.schema {
		h.coarsen()
	}
	for other.schema > h.schema {
		other.coarsen()
	}
	for index, n := range other.native {
		h.native[index] += n
	}
	for i, n := range other.classic {
		h.classic[i] += n
	}
	h.zero += other.zero
	h.count += other.count
	h.sum += other.sum
	h.since = min(h.since, other.since)
	h.limit()
}

func (h *histogram) clone() *histogram {
	c := *h
	c.native = maps.Clone(h.native)
	return &c
}

func (h *histogram) labels() []string {
	return []string{h.class}[:len(latencyFamilies[h.family].labels)]
}

// Desc implements prometheus.Metric.
func (h *histogram) Desc() *prometheus.Desc { return latencyDescs[h.family] }

// Write implements prometheus.Metric.
func (h *histogram) Write(m *dto.Metric) error {
	native, err := prometheus.NewConstNativeHistogram(h.Desc(), h.count, h.sum, h.native, nil, h.zero, h.schema,
		prometheus.DefNativeHistogramZeroThreshold, h.since.Time(), h.labels()...)
	if err != nil {
		return err
	}
	if err := native.Write(m); err != nil {
		return err
	}
	var below uint64
	for i := range latencyBounds {
		below += h.classic[i]
		cumulative := below
		m.Histogram.Bucket = append(m.Histogram.Bucket, &dto.Bucket{CumulativeCount: &cumulative, UpperBound: &latencyBounds[i]})
	}
	return nil
}

// latencyRecordPrefix begins the names of the records of histograms: the family and the class follow. No namespace,
// which names the records of counters, has a slash.
const latencyRecordPrefix = "/latency/"

func (l latency) recordName() string {
	return latencyRecordPrefix + latencyFamilies[l.family].name + "/" + l.class
}

// latencyRecord is the encoded form of a histogram: 300 bytes to 3 KB.
type latencyRecord struct {
	Since  fact.Time
	Count  uint64
	Sum    float64
	Bounds []float64 // of the classic buckets, without the last one's
	Counts []uint64
	Zero   uint64
	Schema int32
	Native map[int]int64
}

func (h *histogram) record() ([]byte, error) {
	return json.Marshal(latencyRecord{h.since, h.count, h.sum, latencyBounds[:], h.classic[:], h.zero, h.schema, h.native})
}

// readLatency decodes a record. Its error says why the histogram begins anew.
func readLatency(name string, data []byte) (*histogram, error) {
	l, ok := latencyNamed(name)
	if !ok {
		return nil, fmt.Errorf("this version of the program does not have the histogram %s", name)
	}
	var r latencyRecord
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("the histogram %s cannot be read: %w", name, err)
	}
	if !slices.Equal(r.Bounds, latencyBounds[:]) {
		return nil, fmt.Errorf("the histogram %s of the version before has the buckets %v, this one has %v", name, r.Bounds, latencyBounds)
	}
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("the histogram %s cannot be right: %w", name, err)
	}
	h := newHistogram(l, r.Since)
	h.count, h.sum, h.zero, h.schema = r.Count, r.Sum, r.Zero, r.Schema
	copy(h.classic[:], r.Counts)
	maps.Copy(h.native, r.Native)
	h.limit()
	return h, nil
}

// check returns an error if a scrape of the histogram would fail.
func (r *latencyRecord) check() error {
	if r.Schema > finestSchema || r.Schema < coarsestSchema {
		return fmt.Errorf("it has schema %d", r.Schema)
	}
	classic, native := uint64(0), r.Zero
	for _, n := range r.Counts {
		classic += n
	}
	for _, n := range r.Native {
		if n < 0 {
			return fmt.Errorf("a bucket has %d observations", n)
		}
		native += uint64(n)
	}
	if len(r.Counts) != len(r.Bounds)+1 || classic != r.Count || native != r.Count {
		return fmt.Errorf("of %d observations, the classic buckets have %d and the native ones %d", r.Count, classic, native)
	}
	return nil
}

// coarsestSchema is the coarsest that Prometheus knows. 15 of its buckets have all durations of a time.Duration.
const coarsestSchema = -4

func latencyNamed(record string) (latency, bool) {
	name, class, _ := strings.Cut(strings.TrimPrefix(record, latencyRecordPrefix), "/")
	for id := range latencyFamilies {
		if f := &latencyFamilies[id]; f.name == name {
			return latency{latencyID(id), class}, len(f.labels) > 0 || class == ""
		}
	}
	return latency{}, false
}
