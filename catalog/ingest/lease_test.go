package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-kit/log"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// granted is a lease that a test grants and ends.
type granted struct {
	mu      sync.Mutex
	term    context.Context
	end     context.CancelFunc
	former  string
	until   time.Time
	changed chan struct{}
}

func (g *granted) Held() context.Context {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.term
}

func (g *granted) Former() (string, time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.former, g.until
}

// forget leaves no former leader.
func (g *granted) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.former = ""
}

func (g *granted) Changed() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.changed
}

func (g *granted) set(held bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.term != nil {
		g.end()
		g.term = nil
	}
	if held {
		g.term, g.end = context.WithCancel(context.Background())
	}
	close(g.changed)
	g.changed = make(chan struct{})
}

func points(instance string, of map[fact.Kind]string) (list []fact.Checkpoint) {
	for kind, version := range of {
		list = append(list, fact.Checkpoint{Instance: instance, Kind: kind, ResourceVersion: version, At: fact.At(time.Now())})
	}
	return list
}

func numbers(j *journal.Journal) (list []uint64) {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	for last := uint64(0); ; {
		entry, err := j.Next(now, last)
		if err != nil {
			return list
		}
		list, last = append(list, entry.Number), entry.Number
	}
}

func TestAStandbyAcknowledgesWhatTheLeaderHasWritten(t *testing.T) {
	j := newJournal(t)
	of := func(kinds map[fact.Kind]string) *fact.Facts {
		return &fact.Facts{Changes: numbered(0, 1).Changes, Checkpoints: points("us", kinds)}
	}
	record(t, j, numbered(0, 2)) // 1: the beginning of 2
	record(t, j, of(map[fact.Kind]string{fact.Pods: "9"}))
	record(t, j, of(map[fact.Kind]string{fact.Pods: "100", fact.Claims: "20"}))
	record(t, j, of(map[fact.Kind]string{fact.Pods: "99"}))
	record(t, j, of(map[fact.Kind]string{fact.Pods: "not a number"}))
	w := NewWriter(catalogtest.Open(t, "127.0.0.1:1", "x"), WriterOptions{Journal: j})
	for _, step := range []struct {
		written checkpointMap
		left    []uint64
	}{
		{nil, []uint64{1, 2, 3, 4, 5}},
		{checkpointMap{fact.Claims: 1000}, []uint64{1, 2, 3, 4, 5}},
		{checkpointMap{fact.Pods: 10, fact.Claims: 20}, []uint64{3, 4, 5}}, // 9 is before 10
		{checkpointMap{fact.Pods: 100, fact.Claims: 19}, []uint64{3, 4, 5}},
		{checkpointMap{fact.Pods: 100, fact.Claims: 20}, []uint64{5}},
		{checkpointMap{fact.Pods: 1 << 60, fact.Claims: 20}, []uint64{5}},
	} {
		if err := w.acknowledgeWritten(t.Context(), step.written, nil); err != nil {
			t.Fatal(err)
		}
		if left := numbers(j); !reflect.DeepEqual(left, step.left) {
			t.Errorf("with %v, %v are left, not %v", step.written, left, step.left)
		}
	}
}

// TestAStandbyWaitsForEventsAndNotForBookmarks: the leader's bookmark may be a minute older than this tracker's.
func TestAStandbyWaitsForEventsAndNotForBookmarks(t *testing.T) {
	j := newJournal(t)
	ours := numbered(0, 1)
	ours.Checkpoints = []fact.Checkpoint{
		{Instance: "us", Kind: fact.Pods, ResourceVersion: "100", EventVersion: "100"},
		{Instance: "us", Kind: fact.StorageClasses, ResourceVersion: "90", EventVersion: "7"},
	}
	record(t, j, ours)
	ofTheClock := numbered(1, 1)
	ofTheClock.Checkpoints = []fact.Checkpoint{
		{Instance: "us", Kind: fact.Pods, ResourceVersion: "110", EventVersion: "100", Unprompted: true},
		{Instance: "us", Kind: fact.StorageClasses, ResourceVersion: "90", EventVersion: "7", Unprompted: true},
	}
	record(t, j, ofTheClock)
	w := NewWriter(catalogtest.Open(t, "127.0.0.1:1", "x"), WriterOptions{Journal: j})
	for _, step := range []struct {
		written checkpointMap
		left    int
	}{
		{checkpointMap{fact.Pods: 100, fact.StorageClasses: 6}, 2},
		{checkpointMap{fact.Pods: 99, fact.StorageClasses: 7}, 2},
		{checkpointMap{fact.Pods: 100, fact.StorageClasses: 7}, 1}, // the second one has rows of no event
		{checkpointMap{fact.Pods: 110, fact.StorageClasses: 89}, 1},
		{checkpointMap{fact.Pods: 110, fact.StorageClasses: 90}, 0},
	} {
		if err := w.acknowledgeWritten(t.Context(), step.written, nil); err != nil {
			t.Fatal(err)
		}
		if left := len(numbers(j)); left != step.left {
			t.Errorf("with %v, %d batches are left, not %d", step.written, left, step.left)
		}
	}
}

func TestCheckpointsOfARecorder(t *testing.T) {
	j := newJournal(t)
	at := func(kind fact.Kind, version string) []fact.Position {
		return []fact.Position{{Kind: kind, ResourceVersion: version, Since: 1, At: 2}}
	}
	r, err := NewRecorder(RecorderOptions{Journal: j, Cluster: "east", batchRows: 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range []*fact.Update{
		{Positions: at(fact.Claims, "1")},                           // begins a span: that is a row
		{Positions: at(fact.Claims, "2")},                           // is not worth a batch
		{Facts: *numbered(0, 25), Positions: at(fact.Pods, "3")},    // is cut; the end says how far all are
		{Facts: *numbered(25, 1), Positions: at(fact.Claims, "12")}, // the pods have not moved
	} {
		r.Record(u)
		if err := r.commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var got []map[fact.Kind]string
	for _, facts := range waiting(t, j) {
		of := map[fact.Kind]string{}
		for _, p := range facts.Checkpoints {
			of[p.Kind] = p.ResourceVersion
		}
		got = append(got, of)
	}
	want := []map[fact.Kind]string{
		{fact.Claims: "1"}, {}, {}, {fact.Claims: "2", fact.Pods: "3"}, {fact.Claims: "12"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestCheckpointsSayWhichRowsComeOfNoEvent: the first ones of a run may follow rows of the run before, and one without a position leaves it to the
// next one to say so.
func TestCheckpointsSayWhichRowsComeOfNoEvent(t *testing.T) {
	j := newJournal(t)
	r, err := NewRecorder(RecorderOptions{Journal: j, Cluster: "east"})
	if err != nil {
		t.Fatal(err)
	}
	at := func(version string) []fact.Position {
		return []fact.Position{{Kind: fact.Claims, ResourceVersion: version, Since: 1, At: 2}}
	}
	for _, u := range []*fact.Update{
		{Facts: *numbered(0, 1), Positions: at("1")},
		{Facts: *numbered(1, 1), Positions: at("2")},
		{Facts: *numbered(2, 1), Unprompted: true},
		{Facts: *numbered(3, 1), Positions: at("3")},
		{Facts: *numbered(4, 1), Positions: at("4")},
		{Facts: fact.Facts{Usage: []fact.Usage{{VolumeUID: "v"}}}, Unprompted: true, Positions: at("5")}, // the writer keeps usage
	} {
		r.Record(u)
		if err := r.commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, facts := range waiting(t, j) {
		for _, p := range facts.Checkpoints {
			got = append(got, fmt.Sprint(p.ResourceVersion, " ", p.Unprompted))
		}
	}
	if want := []string{"1 true", "2 false", "3 true", "4 false", "5 false"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestATakeoverWritesNoEventTwice writes what two trackers have seen of the same events,
// each by its own clock, the former leader's being an hour ahead.
func TestATakeoverWritesNoEventTwice(t *testing.T) {
	c := migrated(t)
	now := time.Now()
	seen := func(ahead time.Duration) func(uid, version string) fact.Change {
		return func(uid, version string) fact.Change {
			return fact.Change{At: fact.At(now.Add(ahead)), Kind: string(fact.Claims), UID: uid, Action: fact.Deleted, ResourceVersion: version}
		}
	}
	const ahead = time.Hour
	theirs, ours := seen(ahead), seen(0)
	volume := func(at time.Time, uid, phase string) fact.Volume {
		return fact.Volume{UID: uid, Phase: phase, Version: uint64(at.UnixMicro())}
	}
	sample := func(at time.Time, version string) fact.StorageCapacity {
		return fact.StorageCapacity{At: fact.At(at), UID: "k", ResourceVersion: version}
	}
	created := func(details string) fact.Change {
		return fact.Change{At: fact.At(now), Kind: string(fact.Claims), UID: "grown", Action: fact.Created, Details: details}
	}
	bound := func(before string, at time.Time) fact.Change { // of a volume, which says when
		return fact.Change{At: fact.At(at), Kind: string(fact.Volumes), UID: "bound twice", Action: fact.Phase, Details: before + " → Bound"}
	}
	write(t, c, "east", &fact.Facts{
		Changes:         []fact.Change{theirs("covered", "9"), theirs("uncovered", "11"), created("1Gi"), bound("Available", now)}, // no checkpoint covers the second
		StorageCapacity: []fact.StorageCapacity{sample(now.Add(ahead), "5")},
		Volumes:         []fact.Volume{volume(now.Add(ahead), "v1", "Bound"), volume(now.Add(ahead+time.Second), "v2", "Bound")},
		Checkpoints:     points("them", map[fact.Kind]string{fact.Claims: "10"}),
	})

	j := newJournal(t)
	record(t, j, &fact.Facts{
		Changes:         []fact.Change{ours("covered", "9"), ours("uncovered", "11"), ours("new", "12"), created("2Gi"), bound("Bound", now), bound("Available", now.Add(time.Second))},
		StorageCapacity: []fact.StorageCapacity{sample(now, "5"), sample(now.Add(1000), "6")},
		Volumes:         []fact.Volume{volume(now.Add(time.Second), "v1", "Released"), volume(now.Add(time.Second), "v2", "Released")},
		Checkpoints:     points("us", map[fact.Kind]string{fact.Claims: "12"}),
	})
	lease := &granted{former: "them", until: now.Add(ahead + leaseOver), changed: make(chan struct{})}
	lease.set(true)
	w := NewWriter(c, WriterOptions{Journal: j, Cluster: "east", Lease: lease, Logger: log.NewLogfmtLogger(t.Output())})
	stop := running(t, w)
	until(t, "written", func() bool { return j.Stats().Rows == 0 })

	// Without the lease nothing is written.
	lease.forget()
	lease.set(false)
	record(t, j, numbered(0, 3))
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if j.Stats().Rows != 3 {
		t.Errorf("%d rows wait", j.Stats().Rows)
	}
	if floor := w.VersionFloor(); floor < uint64(now.Add(ahead+leaseOver).UnixMicro()) {
		t.Errorf("row versions go on from %s", time.UnixMicro(int64(floor)))
	}
	if got := rows(t, c, "SELECT uid, count() FROM changes GROUP BY uid ORDER BY uid"); !reflect.DeepEqual(got, [][]any{{"bound twice", uint64(2)}, {"covered", uint64(1)}, {"grown", uint64(1)}, {"new", uint64(1)}, {"uncovered", uint64(1)}}) {
		t.Errorf("changes: %v", got)
	}
	if got := rows(t, c, "SELECT resource_version FROM storage_capacity ORDER BY 1"); !reflect.DeepEqual(got, [][]any{{"5"}, {"6"}}) {
		t.Errorf("samples: %v", got)
	}
	if got := rows(t, c, "SELECT phase FROM volumes ORDER BY uid"); !reflect.DeepEqual(got, [][]any{{"Released"}, {"Released"}}) {
		t.Errorf("volumes: %v", got)
	}
	if other, err := readLastWriter(t.Context(), c, "east", "us"); err != nil || other != "them" {
		t.Errorf("the last writer is %q, %v", other, err)
	}
}

const leaseOver = 12 * time.Second

// cut is a lease that is lost after so many inserts.
type cut struct {
	*granted
	inserts int
}

func (c *cut) Held() context.Context { // is asked before each insert
	if c.inserts--; c.inserts < 0 {
		c.set(false)
	}
	return c.granted.Held()
}

// TestATermThatIsCutShortLeavesNoOlderRow has a new leader lose its lease after none of its inserts,
// after one, and so on. Its journal says Pending, Bound, Released; the former leader has written
// Released already. At no time may the catalog say anything else.
func TestATermThatIsCutShortLeavesNoOlderRow(t *testing.T) {
	c := migrated(t)
	of := func(phase, volumes, claims string, at time.Time) *fact.Facts {
		versions := map[fact.Kind]string{fact.Volumes: volumes}
		if claims != "" {
			versions[fact.Claims] = claims
		}
		return &fact.Facts{Volumes: []fact.Volume{{UID: "v", Phase: phase, Version: uint64(at.UnixMicro())}}, Checkpoints: points("us", versions)}
	}
	now := time.Now()
	later := now.Add(time.Minute)
	for inserts := range 7 {
		cluster := fmt.Sprintf("cut before insert %d", inserts)
		theirs := of("Released", "100", "9", now) // their checkpoint of claims is behind
		theirs.Checkpoints = points("them", map[fact.Kind]string{fact.Volumes: "100", fact.Claims: "9"})
		write(t, c, cluster, theirs)
		j := newJournal(t)
		record(t, j, of("Pending", "40", "8", later))
		record(t, j, of("Bound", "50", "10", later.Add(1*time.Microsecond)))
		record(t, j, of("Released", "100", "", later.Add(2*time.Microsecond)))
		record(t, j, of("Released", "110", "", later.Add(3*time.Microsecond)))
		lease := &cut{&granted{former: "them", until: later.Add(leaseOver), changed: make(chan struct{})}, inserts}
		lease.set(true)
		w := NewWriter(c, WriterOptions{Journal: j, Cluster: cluster, Lease: lease, Logger: log.NewLogfmtLogger(t.Output())})
		lead := func() {
			t.Helper()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			w.term = lease.granted.Held()
			go func() {
				for j.Stats().Rows > 0 {
					time.Sleep(5 * time.Millisecond)
				}
				stop()
			}()
			if err := w.lead(ctx); err != nil {
				t.Fatal(err)
			}
		}
		released := func(when string) {
			t.Helper()
			if got := fmt.Sprint(rows(t, c, "SELECT phase FROM volumes WHERE cluster = '"+cluster+"'")); got != "[[Released]]" {
				t.Errorf("%s, %s: %s", cluster, when, got)
			}
		}
		lead()
		released("after the first term")
		// The former leader leads again, and writes an old row that was still in its journal.
		write(t, c, cluster, of("Bound", "90", "", later.Add(time.Hour)))
		lease.inserts, lease.until = 1000, later.Add(2*time.Hour)
		lease.set(true)
		if j.Stats().Rows > 0 {
			lead()
			released("after the second term")
		}
	}
}

// TestANewLeaderWaitsUntilItIsAsFar has a new leader whose watch is behind what the former one has
// written.
func TestANewLeaderWaitsUntilItIsAsFar(t *testing.T) {
	c := migrated(t)
	theirs := &fact.Facts{Checkpoints: points("them", map[fact.Kind]string{fact.Pods: "100"})}
	write(t, c, "east", theirs)
	j := newJournal(t)
	behind := numbered(0, 1)
	behind.Checkpoints = points("us", map[fact.Kind]string{fact.Pods: "50"})
	record(t, j, behind)
	lease := &granted{former: "them", changed: make(chan struct{})}
	lease.set(true)
	stop, logged := newLeader(t, c, j, lease)
	logged.await(waitsToCatchUp)
	if j.Stats().Rows == 0 {
		t.Error("it has not waited")
	}
	level := numbered(1, 1)
	level.Checkpoints = points("us", map[fact.Kind]string{fact.Pods: "101"})
	record(t, j, level)
	until(t, "written", func() bool { return j.Stats().Rows == 0 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	// The first batch says nothing that they have not written.
	if got := fmt.Sprint(rows(t, c, "SELECT uid FROM changes")); got != "[[1]]" {
		t.Errorf("changes: %s", got)
	}
}

// TestCheckpointsOfAnotherHistory: etcd was restored from a backup, so that the API server, at 60, is before the former leader's checkpoint. Nobody
// has written what this tracker has listed since: it stays in the journal of one that stands by, and a new leader writes it.
func TestCheckpointsOfAnotherHistory(t *testing.T) {
	c := migrated(t)
	for name, test := range map[string]struct {
		current uint64
		err     error
		stays   bool
	}{"restored": {60, nil, true}, "behind": {200, nil, false}, "no number": {0, nil, false}, "no answer": {0, errors.New("refused"), true}} {
		t.Run(name, func(t *testing.T) {
			j := newJournal(t)
			write(t, c, name, &fact.Facts{Checkpoints: points("them", map[fact.Kind]string{fact.Pods: "100"})})
			ours := numbered(0, 1)
			ours.Checkpoints = points("us", map[fact.Kind]string{fact.Pods: "50"})
			record(t, j, ours)
			lease := &granted{former: "them", changed: make(chan struct{})}
			asked := atomic.Int32{}
			w := NewWriter(c, WriterOptions{Journal: j, Dir: t.TempDir(), Cluster: name, Lease: lease, Logger: log.NewLogfmtLogger(t.Output()),
				CurrentVersion: func(_ context.Context, kind fact.Kind) (uint64, error) {
					if asked.Add(1); kind != fact.Pods {
						t.Errorf("asked for %s", kind)
					}
					return test.current, test.err
				}})
			stop := running(t, w)
			if test.stays {
				until(t, "asked twice", func() bool { return asked.Load() > 1 })
				if j.Stats().Rows == 0 {
					t.Error("it was acknowledged, and nobody has written it")
				}
			} else {
				until(t, "acknowledged", func() bool { return j.Stats().Rows == 0 })
			}
			if test.err == nil && test.stays {
				lease.set(true)
				until(t, "written", func() bool { return j.Stats().Rows == 0 }) // sooner than catchUpWithin
			}
			if err := stop(); err != nil {
				t.Fatal(err)
			}
			want := "[]"
			if test.err == nil && test.stays {
				want = "[[0]]"
			}
			if got := fmt.Sprint(rows(t, c, "SELECT uid FROM changes WHERE cluster = '"+name+"'")); got != want {
				t.Errorf("changes: %s, not %s", got, want)
			}
		})
	}
}

// TestChangesAfterARestore: a tracker with a new journal leaves out the changes that an earlier one has written, and not those of an etcd that
// was restored since.
func TestChangesAfterARestore(t *testing.T) {
	c := migrated(t)
	for current, want := range map[uint64]string{60: "[[p]]", 200: "[]"} {
		cluster, j := fmt.Sprint("at ", current), newJournal(t)
		write(t, c, cluster, &fact.Facts{Checkpoints: points("them", map[fact.Kind]string{fact.Pods: "100"})})
		record(t, j, &fact.Facts{
			Changes:     []fact.Change{{At: fact.At(time.Now()), Kind: string(fact.Pods), UID: "p", Action: fact.Started, ResourceVersion: "55"}},
			Checkpoints: points("us", map[fact.Kind]string{fact.Pods: "56"}),
		})
		w := NewWriter(c, WriterOptions{Journal: j, Dir: t.TempDir(), Cluster: cluster, MayRepeat: true, Logger: log.NewLogfmtLogger(t.Output()),
			CurrentVersion: func(context.Context, fact.Kind) (uint64, error) { return current, nil }})
		stop := running(t, w)
		until(t, "written", func() bool { return j.Stats().Rows == 0 })
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(rows(t, c, "SELECT uid FROM changes WHERE cluster = '"+cluster+"'")); got != want {
			t.Errorf("%s: changes: %s, not %s", cluster, got, want)
		}
	}
}

// newLeader is a writer that has taken over from another tracker, Run's result, and its log.
func newLeader(t *testing.T, c *catalog.Catalog, j *journal.Journal, lease Lease) (stop func() error, logged *logOf) {
	logged = &logOf{t: t}
	w := NewWriter(c, WriterOptions{Journal: j, Dir: t.TempDir(), Cluster: "east", Lease: lease, Logger: log.NewLogfmtLogger(logged)})
	return running(t, w), logged
}

// waitsToCatchUp is the message of a new leader whose watch is behind what the former one has written.
const waitsToCatchUp = "waiting for this tracker's watch to reach what others have written"

// logOf is a log that a test can wait for.
type logOf struct {
	t    *testing.T
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logOf) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(line)
	return l.t.Output().Write(line)
}

// await waits until a message is logged.
func (l *logOf) await(message string) {
	l.t.Helper()
	until(l.t, "logged: "+message, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return bytes.Contains(l.text.Bytes(), []byte(message))
	})
}

// volumeIn is a batch of one row that says a volume's phase, as of a version of the volumes.
func volumeIn(instance, phase, version string) *fact.Facts {
	number := uint64(time.Now().UnixMicro()) + fact.VersionNumber(version)
	return &fact.Facts{Volumes: []fact.Volume{{UID: "v", Phase: phase, Version: number}}, Checkpoints: points(instance, map[fact.Kind]string{fact.Volumes: version})}
}

func heldLease(former string) *granted {
	lease := &granted{former: former, until: time.Now().Add(leaseOver), changed: make(chan struct{})}
	lease.set(true)
	return lease
}

// TestANewLeaderThatIsStoppedWhileItWaits writes nothing: its rows are older.
func TestANewLeaderThatIsStoppedWhileItWaits(t *testing.T) {
	c, j := migrated(t), newJournal(t)
	write(t, c, "east", volumeIn("them", "Released", "100"))
	record(t, j, volumeIn("us", "Bound", "50"))
	stop, logged := newLeader(t, c, j, heldLease("them"))
	logged.await(waitsToCatchUp)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(rows(t, c, "SELECT phase FROM volumes")); got != "[[Released]]" || j.Stats().Rows == 0 {
		t.Errorf("%s, and %d rows wait", got, j.Stats().Rows)
	}
}

// TestALeaderThatWroteNothing comes between two others: what the first one wrote counts for the third.
func TestALeaderThatWroteNothing(t *testing.T) {
	c, j := migrated(t), newJournal(t)
	write(t, c, "east", volumeIn("first", "Released", "100"))
	record(t, j, volumeIn("third", "Bound", "50"))
	stop, logged := newLeader(t, c, j, heldLease("second"))
	logged.await(waitsToCatchUp)
	if got := fmt.Sprint(rows(t, c, "SELECT phase FROM volumes")); got != "[[Released]]" {
		t.Errorf("an older row was written: %s", got)
	}
	record(t, j, volumeIn("third", "Released", "100"))
	until(t, "written", func() bool { return j.Stats().Rows == 0 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(rows(t, c, "SELECT phase FROM volumes")); got != "[[Released]]" {
		t.Errorf("in the end: %s", got)
	}
}

// TestAQuietKindIsNotWaitedFor: the former leader's last word on a kind was a bookmark, which says
// nothing that a new leader could lack.
func TestAQuietKindIsNotWaitedFor(t *testing.T) {
	c, j := migrated(t), newJournal(t)
	theirs := &fact.Facts{Checkpoints: points("them", map[fact.Kind]string{fact.StorageClasses: "900", fact.Drivers: "7"})}
	theirs.Checkpoints[0].EventVersion, theirs.Checkpoints[1].EventVersion = "7", "7"
	write(t, c, "east", theirs)
	ours := numbered(0, 1)
	ours.Checkpoints = points("us", map[fact.Kind]string{fact.StorageClasses: "100"}) // it may not see the other kind
	record(t, j, ours)
	stop, _ := newLeader(t, c, j, heldLease("them"))
	until(t, "written", func() bool { return j.Stats().Rows == 0 }) // sooner than catchUpWithin
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

// TestATakeOverIsRememberedUntilItIsOver: a tracker with a new journal may be killed before it has
// written what another one may have written before; the next one has to know.
func TestATakeOverIsRememberedUntilItIsOver(t *testing.T) {
	c, j := migrated(t), newJournal(t)
	r, err := NewRecorder(RecorderOptions{Journal: j, Cluster: "east"})
	if err != nil {
		t.Fatal(err)
	}
	start := func() (w *Writer, over *int) {
		over = new(int)
		return NewWriter(c, WriterOptions{
			Journal: j, Cluster: "east", MayRepeat: true, AfterTakeover: func() { *over++ }, Logger: log.NewLogfmtLogger(t.Output()),
		}), over
	}
	w, over := start()
	if err := w.beginTakeover(t.Context()); err != nil || *over != 1 {
		t.Errorf("nobody has written before: %v, %d", err, *over)
	}

	for _, on := range []bool{true, false, true} {
		r.SetTakingOver(on)
		if err := r.commit(t.Context()); err != nil || r.TakingOver() != on {
			t.Errorf("want %v: %v", on, err)
		}
	}
	write(t, c, "east", &fact.Facts{Checkpoints: points("them", map[fact.Kind]string{fact.Pods: "100"})})
	w, over = start()
	w.term = context.Background()
	if err := w.beginTakeover(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{0, 1, 1} {
		if i > 0 {
			w.takeover.since = time.Now().Add(-2 * overlap)
		}
		record(t, j, numbered(i, 1))
		if done, err := w.writeNext(t.Context(), time.Second); err != nil || !done || *over != want {
			t.Errorf("batch %d: %v, %v; over %d times, not %d", i, done, err, *over, want)
		}
	}
}

// TestCheckpointsWaitForTheRowsThatReplaceOthers: of a claim that changes twice the first row is dropped.
// Until the second one is written, no checkpoint says that the claim is in the catalog.
func TestCheckpointsWaitForTheRowsThatReplaceOthers(t *testing.T) {
	c, j := migrated(t), newJournal(t)
	write(t, c, "east", &fact.Facts{Checkpoints: points("them", map[fact.Kind]string{fact.Claims: "100", fact.Pods: "100"})})
	claim := fact.Claim{UID: "c1", Name: "data", Version: uint64(time.Now().UnixMicro())}
	at := func(phase string, points []fact.Checkpoint) {
		t.Helper()
		claim.Version++
		claim.Phase = phase
		record(t, j, &fact.Facts{
			Objects: []fact.Object{{Kind: fact.Claims, UID: "c1", ResourceVersion: points[0].ResourceVersion, Object: "{}"}},
			Claims:  []fact.Claim{claim}, Checkpoints: points,
		})
	}
	at("Pending", slices.Concat(points("us", map[fact.Kind]string{fact.Claims: "90"}), points("us", map[fact.Kind]string{fact.Pods: "120"})))
	at("Bound", points("us", map[fact.Kind]string{fact.Claims: "110"}))
	w := NewWriter(c, WriterOptions{Journal: j, Cluster: "east", MayRepeat: true, Logger: log.NewLogfmtLogger(t.Output())})
	w.term = context.Background()
	if err := w.beginTakeover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ok, err := w.catchUp(t.Context()); err != nil || !ok {
		t.Fatal(ok, err)
	}
	for _, want := range [][]any{{uint64(0), uint64(0)}, {uint64(1), uint64(2)}} {
		if done, err := w.writeNext(t.Context(), time.Second); err != nil || !done {
			t.Fatal(done, err)
		}
		got := rows(t, c, "SELECT (SELECT count() FROM claims FINAL WHERE uid = 'c1'), (SELECT count() FROM checkpoints FINAL WHERE instance = 'us')")
		if !reflect.DeepEqual(got, [][]any{want}) {
			t.Errorf("claims and checkpoints are %v, want %v", got, want)
		}
	}
}

// TestAMeasurementThatWasAcknowledgedUnwritten is written by the tracker that took it, once that leads: how full a
// volume is comes from no watch, and the former leader may not have asked.
func TestAMeasurementThatWasAcknowledgedUnwritten(t *testing.T) {
	c, j := migrated(t), newJournal(t)
	write(t, c, "east", &fact.Facts{Checkpoints: points("them", map[fact.Kind]string{fact.Pods: "100"})})
	for i, used := range []int64{80, 90} {
		record(t, j, &fact.Facts{
			Usage:       []fact.Usage{{At: fact.At(time.Now()), ClaimUID: "c", VolumeUID: "v", Space: fact.Space{CapacityBytes: 100, UsedBytes: used}}},
			Checkpoints: points("us", map[fact.Kind]string{fact.Pods: fmt.Sprint(99 + i)}),
		})
	}
	lease := heldLease("them")
	lease.set(false)
	stop, _ := newLeader(t, c, j, lease)
	until(t, "acknowledged", func() bool { return j.Stats().Rows == 0 })
	lease.set(true)
	until(t, "written", func() bool { return fmt.Sprint(rows(t, c, "SELECT used_bytes FROM usage")) == "[[90]]" })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

// TestABatchThatCannotBeReadStopsNoLeader: it is put aside, by who stands by as well.
func TestABatchThatCannotBeReadStopsNoLeader(t *testing.T) {
	c, j := migrated(t), newJournal(t)
	write(t, c, "east", &fact.Facts{Checkpoints: points("them", map[fact.Kind]string{fact.Pods: "100"})})
	if err := j.Commit(t.Context(), journal.Batch{Facts: []byte("\xffof a later version"), Rows: 7}); err != nil {
		t.Fatal(err)
	}
	last := numbered(0, 3)
	last.Checkpoints = points("us", map[fact.Kind]string{fact.Pods: "110"})
	record(t, j, last)
	lease := heldLease("them")
	lease.set(false)
	stop, logged := newLeader(t, c, j, lease)
	logged.await("a batch of the journal cannot be read; it is put aside")
	lease.set(true)
	until(t, "written", func() bool { return j.Stats().Rows == 0 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(rows(t, c, "SELECT count() FROM changes")); got != "[[3]]" {
		t.Errorf("%s rows", got)
	}
}

// TestABatchThatCannotBePutAsideIsKept: the writer ends with an error, and acknowledges nothing.
func TestABatchThatCannotBePutAsideIsKept(t *testing.T) {
	c, j := migrated(t), newJournal(t)
	if err := j.Commit(t.Context(), journal.Batch{Facts: []byte("\xffof a later version"), Rows: 7}); err != nil {
		t.Fatal(err)
	}
	w := NewWriter(c, WriterOptions{Journal: j, Dir: t.TempDir() + "/missing", Cluster: "east", Logger: log.NewLogfmtLogger(t.Output())})
	w.term = context.Background()
	if done, err := w.writeNext(t.Context(), time.Second); err == nil || done || j.Stats().Rows != 7 {
		t.Errorf("done %v, %v, and %d rows wait", done, err, j.Stats().Rows)
	}
}

// TestHeldCheckpointsOverAnInterruptedWrite: the last batch with repeated rows is read and adapted again in
// the same term, when its write was interrupted. The checkpoints of the batches before are in it again.
func TestHeldCheckpointsOverAnInterruptedWrite(t *testing.T) {
	taken := takeover{until: 2, latest: map[string]uint64{}}
	read := func(number uint64, kind fact.Kind) *batch {
		return &batch{number: number, facts: fact.Facts{Checkpoints: []fact.Checkpoint{{Kind: kind, ResourceVersion: "7"}}}}
	}
	taken.dropRepeated(read(1, fact.StorageClasses)) // written and acknowledged
	first := read(2, fact.Pods)
	taken.dropRepeated(first) // and its write is interrupted
	again := read(2, fact.Pods)
	taken.dropRepeated(again)
	if a, b := len(first.facts.Checkpoints), len(again.facts.Checkpoints); a != 2 || b != 2 {
		t.Errorf("checkpoints: %d at first, %d when it is written again; want 2 and 2", a, b)
	}
}
