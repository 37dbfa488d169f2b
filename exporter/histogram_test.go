package exporter

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

func written(t *testing.T, m prometheus.Metric) *dto.Histogram {
	t.Helper()
	var d dto.Metric
	if err := m.Write(&d); err != nil {
		t.Fatal(err)
	}
	d.Histogram.CreatedTimestamp = nil
	return d.Histogram
}

// client_golang's own histogram, with the same buckets and the same limit, is the measure of ours.
func TestHistogramIsThatOfTheLibrary(t *testing.T) {
	for name, exponents := range map[string]int{"narrow": 12, "too wide for the finest buckets": 60} {
		t.Run(name, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(7, 8))
			library := prometheus.NewHistogram(prometheus.HistogramOpts{
				Name: "library", Buckets: latencyBounds[:], NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: nativeBuckets,
			})
			ours := newHistogram(latency{family: podStorageWait}, testNow)
			for i := range 5000 {
				took := time.Duration(1) << rnd.IntN(exponents)
				took += time.Duration(rnd.Int64N(int64(took)))
				if i < len(latencyBounds) {
					took = time.Duration(latencyBounds[i] * float64(time.Second)) // on the bound
				}
				if i%100 == 99 {
					took = 0 // within the same second of the API's times
				}
				library.Observe(took.Seconds())
				ours.observe(took)
			}
			want, got := written(t, library), written(t, ours)
			if !proto.Equal(got, want) {
				t.Errorf("got\n%v\nwant\n%v", got, want)
			}
			if fine := got.GetSchema() == finestSchema; fine != (exponents == 12) {
				t.Errorf("schema %d", got.GetSchema())
			}
		})
	}
}

func latencyChanges(took ...time.Duration) (list []fact.Change) {
	for _, d := range took {
		bound, started := claimChange(fact.Bound), fact.Change{Kind: "Pod", Namespace: "shop", Action: fact.Started}
		bound.Took, started.Took = d, 2*d
		bound.Measured, started.Measured = true, true
		list = append(list, bound, started)
	}
	return list
}

func TestHistogramsGoOnFromWhatWasKept(t *testing.T) {
	kept := NewTally(ago(time.Hour).Time)
	kept.Add(facts(nil, latencyChanges(time.Second, 0, 4*time.Second, 3*time.Hour)...))
	records := mustRecords(t, kept)
	kept.Add(facts(nil, latencyChanges(time.Millisecond, 500*time.Hour)...))
	maps.Copy(records, mustRecords(t, kept))
	if again := mustRecords(t, kept); again != nil {
		t.Errorf("records without a change: %v", again)
	}

	restored := NewTally(testNow.Time)
	if err := restored.Restore(records); err != nil {
		t.Fatal(err)
	}
	caughtUp := false
	e := newTestExporter()
	e.Restore(restored, func() bool { return caughtUp })
	e.Apply(changesUpdate(latencyChanges(7*time.Second, 0)...))
	if got := samples(t, e, "kubevoltracker_claim_bind", "kubevoltracker_pod_storage"); got != "" {
		t.Errorf("served before the gap is caught up with:\n%s", got)
	}
	caughtUp = true

	whole := newTestExporter()
	whole.Apply(changesUpdate(latencyChanges(time.Second, 0, 4*time.Second, 3*time.Hour, time.Millisecond, 500*time.Hour, 7*time.Second, 0)...))
	for l, want := range whole.counters.tally.latencies {
		if got := e.counters.tally.latencies[l]; !proto.Equal(written(t, got), written(t, want)) {
			t.Errorf("got\n%v\nwant\n%v", written(t, got), written(t, want))
		}
	}
	wantText(t, samples(t, e, "kubevoltracker_pod_storage_wait"), samples(t, whole, "kubevoltracker_pod_storage_wait"))
	body := get(e.Handler(), acceptOpenMetrics).Body.String()
	for _, created := range []string{"claim_bind_duration_seconds_created{storageclass=\"fast\"}", "pod_storage_wait_seconds_created"} {
		if line := "kubevoltracker_" + created + " " + openMetricsSeconds(ago(time.Hour)); !strings.Contains(body, line) {
			t.Errorf("no line %s", line)
		}
	}
}

// A histogram continues over two restarts: each run adds to what the run before it persisted.
func TestHistogramsGoOnOverTwoRestarts(t *testing.T) {
	records := map[string][]byte{}
	for run := range 3 {
		tally := NewTally(testNow.Time)
		if err := tally.Restore(records); err != nil {
			t.Fatal(err)
		}
		tally.Add(facts(nil, latencyChanges(time.Second)...))
		maps.Copy(records, mustRecords(t, tally))
		if h := tally.latencies[latency{claimBind, "fast"}]; h.count != uint64(run+1) || h.sum != float64(run+1) {
			t.Errorf("in run %d: %d observations, %g seconds", run, h.count, h.sum)
		}
	}
}

func TestHistogramThatCannotGoOnBeginsAnew(t *testing.T) {
	kept := NewTally(testNow.Time)
	kept.Add(facts(nil, latencyChanges(time.Second)...))
	const name = "/latency/pod_storage_wait_seconds/"
	valid := mustRecords(t, kept)[name]
	change := func(f func(r *latencyRecord)) []byte {
		var r latencyRecord
		if err := json.Unmarshal(valid, &r); err != nil {
			t.Fatal(err)
		}
		f(&r)
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	for _, tc := range []struct {
		name, want string
		data       []byte
	}{
		{name, "", valid},
		{name, "has the buckets [1 10]", change(func(r *latencyRecord) { r.Bounds, r.Counts = []float64{1, 10}, []uint64{1, 0, 0} })},
		{name, "the native ones 2", change(func(r *latencyRecord) { r.Native[0]++ })},
		{name, "the classic buckets have 3", change(func(r *latencyRecord) { r.Counts[2] = 3 })},
		{name, "-1 observations", change(func(r *latencyRecord) { r.Native[4] = -1 })},
		{name, "schema 9", change(func(r *latencyRecord) { r.Schema = 9 })},
		{name, "cannot be read", []byte("{")},
		{"/latency/claim_wish_seconds/fast", "does not have the histogram", valid},
	} {
		tally := NewTally(testNow.Time)
		err := tally.Restore(map[string][]byte{tc.name: tc.data})
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("error %v, want %q", err, tc.want)
		}
		if (len(tally.latencies) == 1) != (tc.want == "") {
			t.Errorf("%d histograms after %v", len(tally.latencies), err)
		}
		e := newTestExporter()
		e.Restore(tally, func() bool { return true })
		if got := samples(t, e, "kubevoltracker_pod_storage_wait_seconds_count"); got == "" {
			t.Error("no histogram is served")
		}
	}
}
