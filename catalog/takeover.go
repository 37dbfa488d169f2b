package catalog

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/go-kit/log/level"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// A new leader writes the batches that wait in its journal. Other leaders have written many of the
// same rows, and may have died before they wrote a checkpoint. Three rules keep the catalog right.
//
// 1. The new leader's row of an object wins. ClickHouse keeps, of the rows with one key, that with the
// highest version. So the new leader gives the rows that it recorded before the take-over versions above
// all that are in the catalog.
//
// 2. No row is replaced by an older one. The new leader first waits until its own watches have reached
// the checkpoints of the others. It then drops the batches that the former leader has written. Of the
// batches after that, which may begin before a checkpoint and end behind it, it writes only the last row
// of each key. Otherwise the start of a mount could replace its end, which another leader wrote; and if
// this leader were stopped in between, nobody would write that end again: the other trackers have
// dropped it from their journals.
//
// 3. No event is written twice. Two trackers that date a change (or a sample of capacity) by their own
// clocks give it two keys, so ClickHouse would keep both rows. The new leader recognises the change by
// the resource version that showed it, and leaves it out.

// overlap is for how long after a take-over the journal can still tell of what the former
// leader has written: our watches may be behind its.
const overlap = time.Minute

// levelWithin bounds the wait of rule 2. It can be in vain, as after etcd was restored from a backup.
const levelWithin = time.Minute

// mostRepeated bounds how many keys are looked at for rule 2. A minute of a busy cluster has fewer.
const mostRepeated = 500_000

// onTheirWay is more than the rows that can be on their way into the journal.
const onTheirWay = 1_000_000

// takeover is what a term begins with. The zero one takes nothing over.
type takeover struct {
	since   time.Time
	written checkpointMap     // by the former leader
	reached checkpointMap     // by anybody
	floor   uint64            // row versions are higher that are given out from now on
	last    uint64            // the highest version given so far to a row recorded before the take-over
	latest  map[string]uint64 // of each key in the batches up to until: the version of its last row
	until   uint64
	held    map[fact.Kind]fact.Checkpoint // of the batches before until
}

// takeOver finds out what the former leader has written.
func (w *Writer) takeOver(ctx context.Context) error {
	var former string
	var leaseEnd time.Time
	switch {
	case w.options.Lease != nil:
		former, leaseEnd = w.options.Lease.Former()
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
		if t.written, err = w.catalog.checkpoints(ctx, w.options.Cluster, former); err != nil {
			return err
		}
		if t.reached, err = w.catalog.reached(ctx, w.options.Cluster, former); err != nil {
			return err
		}
		t.last, err = w.catalog.highestVersion(ctx, w.options.Cluster)
		return err
	})
	if err != nil {
		return err
	}
	if former == "" && w.options.Lease == nil { // nobody has written before
		w.tookOver()
		return nil
	}
	// What the former leader sends now, if it does not know yet, has versions up to the end
	// of its lease. Above them goes what waits, and above that what comes now.
	if !leaseEnd.IsZero() {
		t.last = max(t.last, uint64(leaseEnd.UnixMicro()))
	}
	t.since = time.Now()
	t.floor = max(t.last, w.options.Journal.Version(), uint64(t.since.UnixMicro())) + uint64(w.options.Journal.Stats().Rows) + onTheirWay
	w.floor.Store(t.floor)
	w.taken = t
	level.Info(w.options.Logger).Log("msg", "taking over the catalog", "from", former, "waiting_rows", w.options.Journal.Stats().Rows)
	return nil
}

// drawLevel prepares a term for rule 2. It reports whether the term may begin: not if ctx has ended
// before the watches were as far as what others have written. The error is the journal's.
func (w *Writer) drawLevel(ctx context.Context) (bool, error) {
	limited, cancel := context.WithTimeout(ctx, levelWithin)
	defer cancel()
	var behind fact.Kind
	err := wait.PollUntilContextCancel(limited, 100*time.Millisecond, true, func(context.Context) (bool, error) {
		behind = w.behind()
		return behind == "", nil
	})
	if ctx.Err() != nil {
		return false, nil
	}
	if err != nil {
		level.Warn(w.options.Logger).Log("msg", "this tracker's watch is behind what others have written; writing anyway", "kind", behind, "waited", levelWithin)
	}
	if err := w.letGo(w.taken.written); err != nil {
		return false, err
	}
	return true, w.findRepeated()
}

// behind returns a kind of which others have written more than the journal tells; empty if there is
// none. A kind that this tracker may not see does not count. All kinds that it sees come into the
// journal together, with the first lists.
func (w *Writer) behind() fact.Kind {
	positions := w.options.Journal.Positions()
	for kind, version := range w.taken.reached {
		if p, seen := positions[string(kind)]; (seen || len(positions) == 0) && fact.VersionNumber(p.ResourceVersion) < version {
			return kind
		}
	}
	return ""
}

// findRepeated finds the last row of each key in the batches that can tell of what others have
// written: of each kind, up to the first batch that is past that.
func (w *Writer) findRepeated() error {
	t, past := &w.taken, checkpointMap{}
	positions := w.options.Journal.Positions()
	maps.DeleteFunc(t.reached, func(kind fact.Kind, _ uint64) bool { _, seen := positions[string(kind)]; return !seen })
	t.latest = map[string]uint64{}
	for len(t.latest) < mostRepeated && !past.reaches(t.reached) {
		b, err := w.waiting(t.until)
		if b == nil {
			return err
		}
		t.until = b.number
		keepRows(&b.facts, func(key string, version uint64) bool {
			t.latest[key] = max(t.latest[key], version)
			return true
		})
		for i := range b.facts.Checkpoints {
			p := &b.facts.Checkpoints[i]
			past[p.Kind] = max(past[p.Kind], fact.VersionNumber(p.ResourceVersion))
		}
	}
	return nil
}

// adapt makes a batch of the journal one that can be written after what the former leader
// has written.
func (w *Writer) adapt(ctx context.Context, b *batch) error {
	t, facts := &w.taken, &b.facts
	if t.since.IsZero() {
		return nil
	}
	// A new name in each term: under the old one ClickHouse would drop what an earlier term wrote in
	// part, though another leader may have replaced it since.
	b.name = fmt.Sprintf("%s-%d", b.name, t.since.UnixNano())
	t.dropRepeated(b)
	t.raise(facts)
	if b.recorded.After(t.since.Add(overlap)) {
		w.tookOver()
		return nil
	}
	facts.Changes = slices.DeleteFunc(facts.Changes, func(c fact.Change) bool {
		return t.written.covers(c.EventKind(), c.ResourceVersion)
	})
	facts.StorageCapacity = slices.DeleteFunc(facts.StorageCapacity, func(s fact.StorageCapacity) bool {
		return t.written.covers(fact.StorageCapacities, s.ResourceVersion)
	})
	// The former leader may have died between its last rows and their checkpoint: look for those rows.
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

// tookOver calls WriterOptions.TookOver once: no batch waits any more that another tracker may have written.
func (w *Writer) tookOver() {
	if w.options.TookOver != nil {
		w.options.TookOver()
		w.options.TookOver = nil
	}
}

// dropRepeated drops the rows of a batch that later ones, which wait already, replace (rule 2). A
// checkpoint says that the rows before it are in the catalog, so those of the first batches wait for
// the last one: if the journal is lost in between, a row that was dropped is in no batch any more.
func (t *takeover) dropRepeated(b *batch) {
	if b.number > t.until {
		t.latest, t.held = nil, nil // their memory can go
		return
	}
	keepRows(&b.facts, func(key string, version uint64) bool { return version >= t.latest[key] })
	if t.held == nil {
		t.held = map[fact.Kind]fact.Checkpoint{}
	}
	for _, p := range b.facts.Checkpoints {
		t.held[p.Kind] = p
	}
	b.facts.Checkpoints = nil
	if b.number == t.until {
		b.facts.Checkpoints = slices.Collect(maps.Values(t.held))
	}
}

// keepRows removes the rows with a version of which do returns false.
func keepRows(facts *fact.Facts, do func(key string, version uint64) bool) {
	for _, table := range allTables {
		if table.keep != nil {
			table.keep(facts, do)
		}
	}
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
type changeKey struct {
	kind, uid, action, details, version string
	at                                  int64 // of a change that the API dates, in microseconds
}

func keyOf(c *fact.Change) changeKey {
	return changeKey{c.Kind, c.UID, string(c.Action), c.Details, c.ResourceVersion, int64(c.At)}.common()
}

// common leaves out what trackers may say differently of the same change: who finds an object later
// has another size of a claim that has grown, and another phase before the present one. A moment that
// a tracker has observed is its own.
func (k changeKey) common() changeKey {
	if k.version != "" {
		k.at = 0
	}
	switch fact.Action(k.action) {
	case fact.Created, fact.Deleted:
		k.details, k.at = "", 0
	case fact.Phase, fact.Released:
		if k.version == "" {
			_, k.details, _ = strings.Cut(k.details, " → ")
		}
	default:
		k.at = 0
	}
	return k
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

// spanOf returns where to look for the changes that this tracker has dated by its own clock.
//
// Changes that are dated by the API have the same key whoever writes them, but for the actor, where
// one tracker has seen an object made and the other has found it changed since: those are looked for
// of the hour before the take-over. A dispute is about no event, and has no version.
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
SELECT toString(kind), uid, toString(action), details, resource_version, toUnixTimestamp64Micro(at) FROM changes
WHERE cluster = {cluster:String} AND at >= fromUnixTimestamp64Micro({from:Int64})
    AND (resource_version = '' OR toUInt64OrZero(resource_version) BETWEEN {low:UInt64} AND {top:UInt64})
UNION ALL
SELECT 'CSIStorageCapacity', uid, '', '', resource_version, 0 FROM storage_capacity
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
		err := rows.Scan(&key.kind, &key.uid, &key.action, &key.details, &key.version, &key.at)
		told[key.common()] = true
		return err
	})
	return told, q.err
}
