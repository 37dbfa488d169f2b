package history

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-kit/log"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/ingest"
	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

// tracker takes what a cluster shows, as a tracker does that watches it: through an inventory, a recorder and a journal.
type tracker struct {
	t        *testing.T
	cluster  string
	inv      *inventory.Inventory
	journal  *journal.Journal
	recorder *ingest.Recorder
	stop     context.CancelFunc
	recorded chan error
}

func newTracker(t *testing.T, cluster string) *tracker {
	t.Helper()
	j, err := journal.Open(t.Context(), journal.Options{Path: filepath.Join(t.TempDir(), "journal"), Logger: log.NewNopLogger()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	r, err := ingest.NewRecorder(ingest.RecorderOptions{Journal: j, Cluster: cluster})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	k := &tracker{t: t, cluster: cluster, inv: inventory.New(), journal: j, recorder: r, stop: cancel, recorded: make(chan error, 1)}
	go func() { k.recorded <- r.Run(ctx) }()
	return k
}

// emit records what has changed since the last call.
func (k *tracker) emit(err error) {
	k.t.Helper()
	if err != nil {
		k.t.Fatal(err)
	}
	for more := true; more; {
		var u fact.Update
		more = k.inv.Take(&u)
		k.recorder.Record(&u)
	}
}

func (k *tracker) set(object any, at fact.Time)    { k.emit(k.inv.Set(object, inventory.Live(at))) }
func (k *tracker) delete(object any, at fact.Time) { k.emit(k.inv.Delete(object, inventory.Live(at))) }

// list takes all there is. Since is when the tracker looked away, and 0 for the first lists; watched are the spans before.
func (k *tracker) list(lists map[fact.Kind][]any, at, since fact.Time, watched [][2]fact.Time) {
	var spans []fact.Span
	for _, s := range watched {
		spans = append(spans, fact.Span{From: s[0], To: s[1]})
	}
	for _, kind := range fact.Kinds() {
		if kind == fact.Pods {
			k.inv.SetWatched(append(spans, fact.Span{From: at, To: at}))
		}
		k.emit(k.inv.Replace(kind, lists[kind], inventory.Observation{At: at, NotBefore: since, Found: since == 0, Version: resourceVersion(at)}))
	}
}

func (k *tracker) measure(p *pod, s store, x sample) {
	k.inv.Measure([]inventory.Sample{{
		Node: p.node, PodUID: p.uid, Namespace: p.namespace, Pod: p.name, Volume: s.name, ClaimNamespace: p.namespace, Claim: s.claimName, At: x.at,
		Space: fact.Space{CapacityBytes: measuredBytes, UsedBytes: x.used, AvailableBytes: measuredBytes - x.used, Inodes: measuredFiles, InodesUsed: x.files},
	}}, x.at)
	k.emit(nil)
}

// finish writes all that was recorded to a catalog, and when the cluster was watched.
func (k *tracker) finish(c *catalog.Catalog, spans [][2]fact.Time, hidden []fact.Kind) {
	k.t.Helper()
	u := &fact.Update{}
	for i, span := range spans {
		for _, kind := range fact.Kinds() {
			if slices.Contains(hidden, kind) {
				continue
			}
			row := fact.Coverage{Version: 1, Instance: "a", Kind: kind, StartedAt: span[0], SeenAt: span[1]}
			if i < len(spans)-1 {
				row.EndedAt = span[1]
			}
			u.Facts.Coverage = append(u.Facts.Coverage, row)
		}
	}
	k.recorder.Record(u)
	for k.recorder.Pending() {
		time.Sleep(time.Millisecond)
	}
	k.stop()
	done, cancel := context.WithCancel(k.t.Context())
	cancel()
	w := ingest.NewWriter(c, ingest.WriterOptions{Journal: k.journal, Cluster: k.cluster, Grace: time.Minute, Document: document})
	if err := errors.Join(<-k.recorded, w.Run(done)); err != nil {
		k.t.Fatal(err)
	}
}

// document returns an object of the journal as JSON, as the tracker does.
func document(kind fact.Kind, wire []byte) (string, error) {
	object, err := inventory.Decode(kind, "", wire)
	if err != nil {
		return "", err
	}
	return inventory.JSON(object), nil
}
