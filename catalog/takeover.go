package catalog

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/go-kit/log/level"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// A new leader writes what waits in its journal. Much of that the former one has written as well,
// and may not have said so. Two rules keep the catalog right.
//
// No row is replaced by an older one. Most rows are keyed by what they are about, and replaced by
// version; those of the new leader get versions above all that the former one gave. So the new
// leader first waits until its own watches are as far as the former one has written, and lets go of
// the batches that say nothing else. If some of the next batches tell of times that the former one
// has written about too, they are written as one: in several, a start could be written over an end
// that the former leader has written. Should this leader be stopped before it comes to the end, the
// next one, which has let go of that end, would leave it so.
//
// No event is told twice. A change, or a sample of capacity, that is dated by the moment at which a
// tracker saw it has another key for each tracker. By the resource version that showed it, it is
// known for the same, and left out.

// overlap is for how long after a take-over the journal can still tell of what the former
// leader has written: our watches may be behind its.
const overlap = time.Minute

// levelWithin is how long a new leader waits for its watches to be as far as the former leader has
// written. They may never be: where etcd was restored from a backup, or one of the two may not see
// a kind.
const levelWithin = 10 * time.Second

// onTheirWay is more than the rows that can be on their way into the journal.
const onTheirWay = 1_000_000

// takeover is what a term begins with. The zero one takes nothing over.
type takeover struct {
	since   time.Time
	written checkpointMap // by the former leader
	floor   uint64        // row versions are higher that are given out from now on
	last    uint64        // of those that were given out before, the last one as it was written
	shared  bool          // the next batches may tell of what the former leader has written
}

// takeOver finds out what the former leader has written.
func (w *Writer) takeOver(ctx context.Context) error {
	var former string
	var until time.Time
	switch {
	case w.options.Lease != nil:
		former, until = w.options.Lease.Former()
	case !w.options.TakesOver:
		return nil
	}
	var t takeover
	err := w.persist(ctx, func(ctx context.Context) (err error) {
		if former == "" {
			if former, err = w.catalog.lastWriter(ctx, w.options.Cluster, w.options.Journal.ID()); err != nil {
				return err
			}
		}
		if t.written, err = w.catalog.checkpoints(ctx, w.options.Cluster, former); err == nil {
			t.last, err = w.catalog.highestVersion(ctx, w.options.Cluster)
		}
		return err
	})
	if err != nil || former == "" && w.options.Lease == nil {
		return err // or nobody has written before
	}
	// What the former leader sends now, if it does not know yet, has versions up to the end
	// of its lease. Above them goes what waits, and above that what comes now.
	if !until.IsZero() {
		t.last = max(t.last, uint64(until.UnixMicro()))
	}
	t.since = time.Now()
	t.floor = max(t.last, w.options.Journal.Version(), uint64(t.since.UnixMicro())) + uint64(w.options.Journal.Stats().Rows) + onTheirWay
	t.shared = w.options.Lease != nil && len(t.written) > 0
	w.options.Raise(t.floor)
	w.taken = t
	level.Info(w.options.Logger).Log("msg", "taking over the catalog", "from", former, "waiting_rows", w.options.Journal.Stats().Rows)
	return nil
}

// drawLevel waits until the journal tells of all that the former leader has written, and lets go of
// the batches that tell of nothing else. Its error is the journal's.
func (w *Writer) drawLevel(ctx context.Context) error {
	written := w.taken.written
	waiting, cancel := context.WithTimeout(ctx, levelWithin)
	defer cancel()
	var behind fact.Kind
	err := wait.PollUntilContextCancel(waiting, 100*time.Millisecond, true, func(context.Context) (bool, error) {
		positions := w.options.Journal.Positions()
		for kind, version := range written {
			if behind = kind; fact.VersionNumber(positions[string(kind)].ResourceVersion) < version {
				return false, nil
			}
		}
		return true, nil
	})
	if ctx.Err() != nil {
		return nil // the term is over, and nothing is written in it
	}
	if err != nil {
		level.Warn(w.options.Logger).Log("msg", "taking over though this tracker's watch is behind what the former leader has written", "kind", behind)
	}
	return w.letGo(written)
}

// share adds, to the first batch of a term, the next ones up to the last that can tell of what the
// former leader has written too: of each kind, up to the first one that is past its checkpoint. For
// the sake of memory they are no more than a commit of the recorder's, or little more.
func (w *Writer) share(b *batch) error {
	past := checkpointMap{}
	now, cancel := context.WithCancel(context.Background())
	cancel()
	for next := b; ; {
		for i := range next.facts.Checkpoints {
			p := &next.facts.Checkpoints[i]
			past[p.Kind] = max(past[p.Kind], fact.VersionNumber(p.ResourceVersion))
		}
		if next != b {
			moveRows(&b.facts, &next.facts, next.facts.Len())
			b.last = next.last
		}
		if past.reaches(w.taken.written) || b.facts.Len() >= rowsPerCommit {
			return nil
		}
		var err error
		if next, err = w.read(now, b.last); err != nil || next == nil {
			return err
		}
	}
}

// adapt makes a batch of the journal one that can be written after what the former leader
// has written.
func (w *Writer) adapt(ctx context.Context, b *batch) error {
	t, facts := &w.taken, &b.facts
	if t.since.IsZero() {
		return nil
	}
	// What an earlier term began to write would not be written again under its name, and may have
	// been replaced since.
	b.name = fmt.Sprintf("%s-%d", b.name, t.floor)
	t.raise(facts)
	if b.recorded.After(t.since.Add(overlap)) {
		return nil
	}
	facts.Changes = slices.DeleteFunc(facts.Changes, func(c fact.Change) bool {
		return t.written.covers(c.EventKind(), c.ResourceVersion)
	})
	facts.StorageCapacity = slices.DeleteFunc(facts.StorageCapacity, func(s fact.StorageCapacity) bool {
		return t.written.covers(fact.StorageCapacities, s.ResourceVersion)
	})
	// Of what the former leader was writing when it ended, it has said nothing.
	span := spanOf(facts, t.since)
	if span.from.IsZero() {
		return nil
	}
	return w.persist(ctx, func(ctx context.Context) error {
		told, err := w.catalog.told(ctx, w.options.Cluster, span)
		if err == nil {
			facts.Changes = slices.DeleteFunc(facts.Changes, func(c fact.Change) bool { return told[keyOf(&c)] })
			facts.StorageCapacity = slices.DeleteFunc(facts.StorageCapacity, func(s fact.StorageCapacity) bool { return told[sampleKey(&s)] })
		}
		return err
	})
}

// raise gives the rows that were recorded before the take-over versions above those of the
// former leader, in their order: the last word on each object is ours. For the moment until
// all that waits is written, an earlier word may show.
func (t *takeover) raise(facts *fact.Facts) {
	add := func(version *uint64) {
		if *version <= t.floor {
			t.last = max(t.last+1, *version)
			*version = t.last
		}
	}
	for _, table := range allTables {
		if table.versions != nil {
			table.versions(facts, add)
		}
	}
}

// changeKey is what is the same of a change for all trackers that have seen it.
type changeKey struct{ kind, uid, action, details, version string }

func keyOf(c *fact.Change) changeKey {
	return changeKey{c.Kind, c.UID, string(c.Action), c.Details, c.ResourceVersion}
}

func sampleKey(s *fact.StorageCapacity) changeKey {
	return changeKey{kind: string(fact.StorageCapacities), uid: s.UID, version: s.ResourceVersion}
}

// span is where in the catalog the changes and samples of a batch can be, if they are.
type span struct {
	from     time.Time // zero if there is nothing to look for
	low, top uint64    // resource versions
}

// clocksApart is by how much the clocks of two trackers may differ for a change of the one
// to be found by the time of the other.
const clocksApart = time.Hour

// spanOf returns where those are that this tracker has dated. Those that are dated by the
// API have the same key whoever writes them, but for the actor, where one has seen an object
// made and the other has found it changed since: those are looked for of the hour before the
// take-over. A dispute is about no event, and has no version.
func spanOf(facts *fact.Facts, since time.Time) (s span) {
	add := func(at fact.Time, text string) {
		if version := fact.VersionNumber(text); version > 0 {
			if s.top = max(s.top, version); s.low == 0 || version < s.low {
				s.low = version
			}
		}
		if from := at.Time().Add(-clocksApart); s.from.IsZero() || from.Before(s.from) {
			s.from = from
		}
	}
	for i := range facts.Changes {
		c := &facts.Changes[i]
		if c.ResourceVersion != "" || c.Action == fact.Disputed || c.At.Time().After(since.Add(-clocksApart)) {
			add(c.At, c.ResourceVersion)
		}
	}
	for i := range facts.StorageCapacity {
		add(facts.StorageCapacity[i].At, facts.StorageCapacity[i].ResourceVersion)
	}
	return s
}

const toldChanges = `
SELECT toString(kind), uid, toString(action), details, resource_version FROM changes
WHERE cluster = {cluster:String} AND at >= fromUnixTimestamp64Micro({from:Int64})
    AND (resource_version = '' OR toUInt64OrZero(resource_version) BETWEEN {low:UInt64} AND {top:UInt64})
UNION ALL
SELECT 'CSIStorageCapacity', uid, '', '', resource_version FROM storage_capacity
WHERE cluster = {cluster:String} AND at >= fromUnixTimestamp64Micro({from:Int64})
    AND toUInt64OrZero(resource_version) BETWEEN {low:UInt64} AND {top:UInt64}`

// told reads which changes and samples of a span are in the catalog, whoever wrote them.
func (c *Catalog) told(ctx context.Context, cluster string, s span) (map[changeKey]bool, error) {
	q := c.asking(ctx, cluster, "")
	q.more = []any{
		clickhouse.Named("from", strconv.FormatInt(s.from.UnixMicro(), 10)),
		clickhouse.Named("low", fmt.Sprint(s.low)), clickhouse.Named("top", fmt.Sprint(s.top)),
	}
	told := map[changeKey]bool{}
	q.each(toldChanges, func(rows driver.Rows) error {
		var key changeKey
		err := rows.Scan(&key.kind, &key.uid, &key.action, &key.details, &key.version)
		told[key] = true
		return err
	})
	return told, q.err
}
