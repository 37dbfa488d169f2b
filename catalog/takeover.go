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

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// A new leader writes all that waits in its journal. Much of that the former one has
// written as well, and may not have said so. Most rows are keyed by what they are about,
// and replaced by version: writing them again changes nothing, if the versions are above
// those that the other one gave. But a change, and a sample of capacity, that is dated by
// the moment at which a tracker saw it has another key for each tracker. By the resource
// version that showed it, it is known for the same, and left out.

// overlap is for how long after a take-over the journal can still tell of what the former
// leader has written: our watches may be behind its.
const overlap = time.Minute

// onTheirWay is more than the rows that can be on their way into the journal.
const onTheirWay = 1_000_000

// takeover is what a term begins with. The zero one takes nothing over.
type takeover struct {
	since   time.Time
	written checkpointMap // by the former leader
	floor   uint64        // row versions are higher that are given out from now on
	last    uint64        // of those that were given out before, the last one as it was written
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
	w.options.Raise(t.floor)
	w.taken = t
	level.Info(w.options.Logger).Log("msg", "taking over the catalog", "from", former, "waiting_rows", w.options.Journal.Stats().Rows)
	return nil
}

// adapt makes a batch of the journal one that can be written after what the former leader
// has written.
func (w *Writer) adapt(ctx context.Context, recorded time.Time, facts *fact.Facts) error {
	t := &w.taken
	if t.since.IsZero() {
		return nil
	}
	t.raise(facts)
	if recorded.After(t.since.Add(overlap)) {
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
