package ingest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-kit/log"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

// recorded runs a recorder over updates, to its end.
func recorded(t *testing.T, o RecorderOptions, updates ...*fact.Update) {
	t.Helper()
	o.Cluster = "east"
	r, err := NewRecorder(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range updates {
		r.Record(u)
	}
	// Run would give what is left five seconds, which a slow disk may not do with.
	if err := r.commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.close()
	r.Record(&fact.Update{Facts: fact.Facts{Changes: make([]fact.Change, 100_000)}}) // nobody hangs
	if !r.Pending() {
		t.Error("nothing is pending")
	}
}

// waiting are the batches of facts that wait in a journal.
func waiting(t *testing.T, j *journal.Journal) (batches []fact.Facts) {
	t.Helper()
	now, cancel := context.WithCancel(t.Context())
	cancel()
	for last := uint64(0); ; {
		entry, err := j.Next(now, last)
		if err != nil {
			return batches
		}
		var facts fact.Facts
		if err := decodeFacts(entry.Facts, &facts); err != nil {
			t.Fatal(err)
		}
		if facts.Len() != entry.Rows {
			t.Errorf("batch %d has %d rows, not %d", entry.Number, facts.Len(), entry.Rows)
		}
		batches, last = append(batches, facts), entry.Number
	}
}

// ahead returns a version of an inventory that is higher than those of the rows of coverage, which are moments. The journal keeps the highest.
func ahead() uint64 { return uint64(time.Now().Add(time.Hour).UnixMicro()) }

func TestRecorderCutsBatchesInOrder(t *testing.T) {
	j := newJournal(t)
	first, second := &fact.Update{Facts: *numbered(0, 25)}, &fact.Update{Facts: *numbered(25, 3)}
	first.Facts.Volumes = make([]fact.Volume, 3)
	recorded(t, RecorderOptions{Journal: j, batchRows: 14}, first, second)
	var sizes []int
	var uids []string
	for _, facts := range waiting(t, j) {
		sizes = append(sizes, facts.Len())
		for _, c := range facts.Changes {
			uids = append(uids, c.UID)
		}
	}
	if !reflect.DeepEqual(sizes, []int{14, 14, 3}) {
		t.Errorf("batches of %v", sizes)
	}
	for i, uid := range uids {
		if uid != fmt.Sprint(i) {
			t.Fatalf("row %d is %s", i, uid)
		}
	}
}

// openJournal opens the journal in a directory. The test closes it.
func openJournal(t *testing.T, path string) *journal.Journal {
	t.Helper()
	j, err := journal.Open(t.Context(), journal.Options{Path: path, Logger: log.NewLogfmtLogger(t.Output())})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestRecorderKeepsWhatARestartNeeds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := openJournal(t, path)
	if known, err := RestoreJournal(j); known != nil || err != nil {
		t.Errorf("a new journal knows %v, %v", known, err)
	}
	claim := func(uid string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: uid, UID: "c1", ResourceVersion: "7"}}
	}
	inv := inventory.New()
	if err := inv.Set(claim("data"), inventory.Live(5)); err != nil {
		t.Fatal(err)
	}
	var u fact.Update
	inv.Take(&u)
	u.Version = ahead()
	u.Positions = []fact.Position{{Kind: fact.Claims, ResourceVersion: "7", Since: 3, At: 5}}
	gone := &fact.Update{Snapshots: []fact.ObjectSnapshot{{Kind: fact.Pods, UID: "p1", Forgotten: true}}}
	gone.Facts.Objects = []fact.Object{{Kind: fact.Pods, UID: "p1", Object: "{}"}}
	recorded(t, RecorderOptions{Journal: j, WithoutFacts: true}, &u, gone)
	if n := len(waiting(t, j)); n != 0 {
		t.Errorf("%d batches of facts, though nobody writes them", n)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}

	j = openJournal(t, path)
	defer func() { _ = j.Close() }()
	known, err := RestoreJournal(j)
	if err != nil || len(objectsOf(t, known)) != 1 || known.Version != u.Version {
		t.Fatalf("got %+v, %v", known, err)
	}
	checkOneClaim(t, known, u.Positions[0])
	if _, err := NewRecorder(RecorderOptions{Journal: j, Cluster: "west"}); err == nil || !strings.Contains(err.Error(), "--data-dir") {
		t.Errorf("another cluster's journal: %v", err)
	}
}

// boundVolume has an inventory observe a volume that is claimed, and then bound at 9 s. The update has so many rows that it is a
// transaction of its own.
func boundVolume(t *testing.T, inv *inventory.Inventory, seen inventory.Observation) *fact.Update {
	t.Helper()
	for _, phase := range []corev1.PersistentVolumePhase{corev1.VolumePending, corev1.VolumeBound} {
		volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "vol", UID: "v1", ResourceVersion: "11"}}
		volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "shop", Name: "data", UID: "c1"}
		changed := metav1.NewTime(fact.Time(9_000_000).Time())
		volume.Status = corev1.PersistentVolumeStatus{Phase: phase, LastPhaseTransitionTime: &changed}
		if err := inv.Set(volume, seen); err != nil {
			t.Fatal(err)
		}
	}
	u := &fact.Update{}
	inv.Take(u)
	u.Facts.Changes = append(u.Facts.Changes, make([]fact.Change, chunkSize)...)
	for i := range u.Facts.Changes {
		u.Facts.Changes[i].Namespace = "lab" // by which the tally counts
	}
	return u
}

// cutOff ends a commit once its first transaction is in the journal, which is full then. It returns the rows of that one.
func cutOff(t *testing.T, r *Recorder, j *journal.Journal) fact.Facts {
	t.Helper()
	full, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.commit(full) }()
	if _, err := j.Next(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the commit ended with %v", err)
	}
	batches := waiting(t, j)
	if len(batches) != 1 {
		t.Fatalf("the journal has %d batches of rows", len(batches))
	}
	return batches[0]
}

// TestACommitThatIsCutOffIsRepeated ends a tracker between the transactions of a commit. The state, the counts and the integrals are
// those of the positions, so that the events that the watches send again lead to the same rows.
func TestACommitThatIsCutOffIsRepeated(t *testing.T) {
	options := journal.Options{Path: filepath.Join(t.TempDir(), "journal"), MaxBytes: 1, Logger: log.NewLogfmtLogger(t.Output())} // one batch of rows fills it
	j, err := journal.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	tally := newCountingTally()
	tally.integrals = map[string]any{"a": 1}
	recorded(t, RecorderOptions{Journal: j, Tally: tally, WithoutFacts: true}, changesIn("shop"))

	tally.integrals = map[string]any{"a": 2}
	r, err := NewRecorder(RecorderOptions{Journal: j, Cluster: "east", Tally: tally})
	if err != nil {
		t.Fatal(err)
	}
	r.Record(boundVolume(t, inventory.New(), inventory.Live(10_000_000)))
	r.Record(changesIn("shop"))
	before := cutOff(t, r, j)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}

	j = openJournal(t, options.Path)
	defer func() { _ = j.Close() }()
	known, err := RestoreJournal(j)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprintf("%s", known.Counters), "map[a:1 shop:+]"; got != want {
		t.Errorf("the counters are %s, want %s", got, want)
	}
	inv := inventory.New()
	if unread, err := inv.Restore(known.Saved(), known.Version, 20_000_000); unread != nil || err != nil {
		t.Fatal(unread, err)
	}
	inv.Take(&fact.Update{})
	repeated := boundVolume(t, inv, inventory.Observation{At: 20_000_000, NotBefore: 5}).Facts
	got, want := repeated.Bindings, before.Bindings
	if len(want) != 1 || len(got) != 1 || got[0].Version <= want[0].Version {
		t.Fatalf("the bindings are %+v, and were %+v", got, want)
	}
	if got[0].Version = want[0].Version; got[0] != want[0] {
		t.Errorf("the binding is %+v, and was %+v", got[0], want[0])
	}
	for _, c := range repeated.Changes {
		if c.Action == fact.Phase && strings.HasPrefix(c.Details, "Bound") {
			t.Errorf("a change: %+v", c)
		}
	}
}

// checkOneClaim checks that a restored snapshot has the claim c1 and the position of claims.
func checkOneClaim(t *testing.T, known *fact.Snapshot, position fact.Position) {
	t.Helper()
	if o := objectsOf(t, known)[0]; o.Kind != fact.Claims || o.UID != "c1" || !strings.Contains(string(o.Wire), "data") || o.Snapshot.UID != "c1" {
		t.Errorf("got %+v", o)
	}
	if got, want := known.Positions, (map[fact.Kind]fact.Position{fact.Claims: position}); !reflect.DeepEqual(got, want) {
		t.Errorf("positions: got %v, want %v", got, want)
	}
}

// TestRecorderSaves has a new journal take what the catalog knew.
func TestRecorderSaves(t *testing.T) {
	j := newJournal(t)
	r, err := NewRecorder(RecorderOptions{Journal: j, Cluster: "east"})
	if err != nil {
		t.Fatal(err)
	}
	pod := fact.SavedObject{Kind: fact.Pods, UID: "p1", Object: `{"metadata":{"name":"web"}}`}
	class := fact.SavedObject{Kind: fact.StorageClasses, UID: "s1", Object: `{"metadata":{"name":"fast"}}`}
	pod.Snapshot = fact.ObjectSnapshot{Kind: fact.Pods, UID: "p1", WorkloadKind: "Job"}
	adopted := &fact.Snapshot{Version: ahead(), Objects: fact.SavedList{pod, class}}
	if err := r.Save(t.Context(), adopted); err != nil {
		t.Fatal(err)
	}
	if known, err := RestoreJournal(j); known != nil || err != nil {
		t.Errorf("before anything was watched it counts as new, and not as %v, %v", known, err)
	}
	r.SetIncomplete(true)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.Record(&fact.Update{Positions: []fact.Position{{Kind: fact.Pods, ResourceVersion: "8", Since: 3, At: 5}}})
	if err := r.Run(ctx); err != nil {
		t.Fatal(err)
	}
	known, err := RestoreJournal(j)
	if err != nil || len(objectsOf(t, known)) != 2 || known.Version != adopted.Version || !r.Incomplete() {
		t.Fatalf("got %+v, unread %v, %v", known, r.Incomplete(), err)
	}
	for _, o := range objectsOf(t, known) {
		if o.Kind == fact.Pods && !reflect.DeepEqual(o, pod) {
			t.Errorf("got %+v, want %+v", o, pod)
		}
	}
	r.SetIncomplete(false)
	if err := r.Run(ctx); err != nil || r.Incomplete() {
		t.Errorf("it is still to be read back: %v", err)
	}
}

// TestRecorderKeepsTheOrderOfAReturn: an object that goes and comes back under its UID within one
// commit, as after etcd was restored from a backup, is kept, and one that comes and goes is not.
func TestRecorderKeepsTheOrderOfAReturn(t *testing.T) {
	gone := func(uid string) *fact.Update {
		return &fact.Update{Snapshots: []fact.ObjectSnapshot{{Kind: fact.StorageClasses, UID: uid, Forgotten: true}}}
	}
	there := func(uid string) *fact.Update {
		return &fact.Update{Facts: fact.Facts{Objects: []fact.Object{{Kind: fact.StorageClasses, UID: uid, Object: "{}"}}}}
	}
	large := func(objects ...fact.Object) *fact.Update {
		u := &fact.Update{Facts: *numbered(0, chunkSize)}
		u.Facts.Objects = objects
		return u
	}
	position := &fact.Update{Positions: []fact.Position{{Kind: fact.StorageClasses, ResourceVersion: "7", Since: 3, At: 5}}}
	for name, updates := range map[string][]*fact.Update{
		"small updates":              {there("back"), gone("back"), there("back"), there("gone"), gone("gone")},
		"large updates in between":   {there("back"), large(), gone("back"), large(), there("back"), large(), there("gone"), large(), gone("gone")},
		"it returns in a large one":  {large(), there("back"), gone("back"), large(there("back").Facts.Objects...), there("gone"), gone("gone")},
		"small ones after large one": {large(), there("back"), gone("back"), there("back"), there("gone"), gone("gone")},
	} {
		t.Run(name, func(t *testing.T) {
			j, want, got := newJournal(t), 0, 0
			for _, u := range updates {
				want += u.Facts.Len()
			}
			recorded(t, RecorderOptions{Journal: j}, append(updates, position)...)
			known, err := RestoreJournal(j)
			if err != nil || len(objectsOf(t, known)) != 1 || objectsOf(t, known)[0].UID != "back" {
				t.Errorf("got %+v, %v", known, err)
			}
			for _, facts := range waiting(t, j) {
				got += len(facts.Changes) + len(facts.Objects)
			}
			if got != want {
				t.Errorf("%d rows, want %d", got, want)
			}
		})
	}
}

func TestRecorderKeepsTheLiveHeap(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := openJournal(t, path)
	r, err := NewRecorder(RecorderOptions{Journal: j, Cluster: "east"})
	if err != nil || r.LiveHeap() != 0 {
		t.Fatalf("%d, %v", r.LiveHeap(), err)
	}
	r.SetLiveHeap(123 << 20)
	if err := errors.Join(r.commit(t.Context()), j.Close()); err != nil {
		t.Fatal(err)
	}
	j = openJournal(t, path)
	defer func() { _ = j.Close() }()
	if r, err = NewRecorder(RecorderOptions{Journal: j, Cluster: "east"}); err != nil || r.LiveHeap() != 123<<20 {
		t.Errorf("%d, %v", r.LiveHeap(), err)
	}
}

// TestRecorderTakesAListInParts: a first list is much larger than a transaction may be.
func TestRecorderTakesAListInParts(t *testing.T) {
	const n = 2*objectsPerCommit + recordsPerCommit
	path := filepath.Join(t.TempDir(), "journal")
	j := openJournal(t, path)
	u := &fact.Update{Facts: *numbered(0, rowsPerCommit+10)}
	for i := range n {
		uid := fmt.Sprint("c", i)
		u.Facts.Objects = append(u.Facts.Objects, fact.Object{Kind: fact.Claims, UID: uid, Object: `{"metadata":{"uid":"` + uid + `"}}`})
		u.Snapshots = append(u.Snapshots, fact.ObjectSnapshot{Kind: fact.Claims, UID: uid})
	}
	u.Positions = []fact.Position{{Kind: fact.Claims, ResourceVersion: "7", Since: 3, At: 5}}
	recorded(t, RecorderOptions{Journal: j}, u)
	objects := 0
	for i, facts := range waiting(t, j) {
		if (len(facts.Changes) > 0) != (i < 2) || len(facts.Objects) > objectsPerCommit || facts.Len() > rowsPerCommit {
			t.Errorf("batch %d has %d changes, %d objects", i, len(facts.Changes), len(facts.Objects))
		}
		objects += len(facts.Objects)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = openJournal(t, path)
	defer func() { _ = j.Close() }()
	known, err := RestoreJournal(j)
	if err != nil || objects != n || len(objectsOf(t, known)) != n {
		t.Fatalf("%d objects in batches, %d to go on with, %v", objects, len(objectsOf(t, known)), err)
	}
	for _, o := range objectsOf(t, known) {
		if o.Kind != fact.Claims || o.UID != o.Snapshot.UID || !strings.Contains(o.Object, o.UID) {
			t.Fatalf("%v has the snapshot of %s", o.Object, o.Snapshot.UID)
		}
	}
}

// TestRecorderCutsBatchesByTheirBytes: users make objects of a megabyte, and rows with long texts.
func TestRecorderCutsBatchesByTheirBytes(t *testing.T) {
	j := newJournal(t)
	long := strings.Repeat("x", 1<<20)
	const n = 40 // of each, each with a megabyte
	u := &fact.Update{Facts: *numbered(0, n)}
	for i := range n {
		u.Facts.Changes[i].Details = long
		u.Facts.Namespaces = append(u.Facts.Namespaces, fact.Namespace{Labels: fact.Labels{"a": long[:len(long)/2]}, Groups: []string{long[:len(long)/2]}})
		u.Facts.Objects = append(u.Facts.Objects, fact.Object{Kind: fact.Claims, UID: fmt.Sprint("c", i), Object: long})
	}
	recorded(t, RecorderOptions{Journal: j}, u)
	var rows, objects int
	for i, facts := range waiting(t, j) {
		if facts.Len() > bytesPerCommit>>20 {
			t.Errorf("batch %d has %d MiB", i, facts.Len())
		}
		if objects > 0 && facts.Len() > len(facts.Objects) {
			t.Errorf("batch %d has rows, and comes after objects", i)
		}
		rows, objects = rows+facts.Len(), objects+len(facts.Objects)
	}
	if rows != 3*n || objects != n {
		t.Errorf("%d rows, %d of them objects, want %d and %d", rows, objects, 3*n, n)
	}
}

// objectOfSize is an object that is not encoded, of so many bytes.
type objectOfSize int

func (objectOfSize) Wire() []byte { return nil }
func (o objectOfSize) Size() int  { return int(o) }

// TestRecorderBlocksWhileManyBytesArePending records rows and objects of a megabyte, each in an update of its own.
func TestRecorderBlocksWhileManyBytesArePending(t *testing.T) {
	j := newJournal(t)
	synctest.Test(t, func(t *testing.T) {
		r, err := NewRecorder(RecorderOptions{Journal: j, Cluster: "east"})
		if err != nil {
			t.Fatal(err)
		}
		const n = 200
		long := strings.Repeat("x", 1<<20)
		go func() {
			for range n / 2 {
				r.Record(&fact.Update{Facts: fact.Facts{Changes: []fact.Change{{Details: long}}}})
				r.Record(&fact.Update{Facts: fact.Facts{Objects: []fact.Object{{From: objectOfSize(len(long))}}}})
			}
		}()
		for recorded, most := 0, pendingBatches*batchBytes/len(long); recorded < n; {
			synctest.Wait()
			start := time.Now()
			if r.gather(t.Context(), time.Hour); recorded+most < n && time.Since(start) != 0 {
				t.Error("a full batch waits for more rows")
			}
			p := r.takePending()
			rows := 0
			for i := range p.chunks {
				rows += p.chunks[i].facts.Len()
			}
			if recorded += rows; rows == 0 || rows > most+1 {
				t.Fatalf("%d MiB are pending, and %d are the most", rows, most)
			}
		}
	})
}

func TestSpansOfWatching(t *testing.T) {
	j := newJournal(t)
	c := newCoverage(j)
	at := func(since, at fact.Time) map[fact.Kind]fact.Position {
		return map[fact.Kind]fact.Position{fact.Pods: {Kind: fact.Pods, ResourceVersion: "7", Since: since, At: at}}
	}
	var facts fact.Facts
	now := time.Unix(1000, 0)
	c.add(&facts, at(10, 10), now)
	c.add(&facts, at(10, 20), now.Add(time.Second)) // not worth a row
	c.add(&facts, at(10, 30), now.Add(coverageEvery))
	c.add(&facts, at(50, 50), now.Add(coverageEvery+time.Second)) // after a gap
	var got [][3]fact.Time
	for i, row := range facts.Coverage {
		got = append(got, [3]fact.Time{row.StartedAt, row.SeenAt, row.EndedAt})
		if i > 0 && row.Version <= facts.Coverage[i-1].Version || row.Instance != j.ID() {
			t.Errorf("row %+v", row)
		}
	}
	if want := [][3]fact.Time{{10, 10, 0}, {10, 30, 0}, {10, 30, 30}, {50, 50, 0}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestRowsOfCoverageOutlastAClockThatIsSetBack: of the rows of a span, the catalog keeps that with the highest version. It is to be
// the last one also after a restart: its seen_at is the present, by the clock that is now in force.
func TestRowsOfCoverageOutlastAClockThatIsSetBack(t *testing.T) {
	j := newJournal(t)
	position := fact.Position{Kind: fact.Pods, ResourceVersion: "7", Since: 10, At: fact.At(time.Now())}
	recorded(t, RecorderOptions{Journal: j}, &fact.Update{Positions: []fact.Position{position}})
	before := waiting(t, j)[0].Coverage[0]

	back := time.Now().Add(-2 * time.Hour)
	position.At = fact.At(back)
	var facts fact.Facts
	newCoverage(j).add(&facts, map[fact.Kind]fact.Position{fact.Pods: position}, back)
	if len(facts.Coverage) != 1 || facts.Coverage[0].StartedAt != before.StartedAt || facts.Coverage[0].Version <= before.Version {
		t.Errorf("%+v comes after %+v", facts.Coverage, before)
	}
}
