package ingest

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/go-kit/log/level"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// A new leader writes the batches that wait in its journal. Other leaders have written many of the
// same rows, and may have died before they wrote a checkpoint. Three rules keep the catalog right.
//
// 1. The new leader's row of an object wins. ClickHouse keeps, of the rows with one key, that with the
// highest version. So the new leader gives the rows that it recorded before the takeover versions above
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

const (
	// overlap is how long after a takeover batches can still have rows that the former leader has written: our
	// watches may be that far behind its watches.
	overlap = time.Minute
	// catchUpWithin bounds the wait of rule 2, which can be in vain: a watch can be broken for long.
	catchUpWithin = time.Minute
	// compareEvery is how often leaveOutForeign is tried while the API server does not answer.
	compareEvery = time.Second
	// mostRepeated bounds how many keys rule 2 looks at. A busy cluster has fewer in a minute.
	mostRepeated = 500_000
	// uncommittedRows is more than the rows that can be on their way into the journal.
	uncommittedRows = 1_000_000
)

// takeover is the state of rules 1 to 3 in a term. The zero takeover takes nothing over.
type takeover struct {
	since       time.Time
	written     checkpointMap                 // of the former leader
	reached     checkpointMap                 // the highest of any tracker
	compared    map[fact.Kind]bool            // see leaveOutForeign
	floor       uint64                        // new rows have higher versions
	last        uint64                        // the highest version given so far to a row from before the takeover
	latest      map[string]uint64             // the version of the last row of each key, in the batches up to until
	until       uint64                        // the last batch that can have rows that others have written
	checkpoints map[fact.Kind]fact.Checkpoint // of the batches before until
}

// beginTakeover reads how far the former leader and all others have written, and raises the floor of row versions.
func (w *Writer) beginTakeover(ctx context.Context) error {
	var former string
	var leaseEnd time.Time
	switch {
	case w.options.Lease != nil:
		former, leaseEnd = w.options.Lease.Former()
	case !w.options.MayRepeat:
		return nil
	}
	t := takeover{compared: map[fact.Kind]bool{}}
	var found versionsFound
	err := w.persist(ctx, func(ctx context.Context) (err error) {
		if former == "" {
			if former, err = readLastWriter(ctx, w.catalog, w.options.Cluster, w.options.Journal.ID()); err != nil {
				return err
			}
		}
		if t.written, err = readCheckpoints(ctx, w.catalog, w.options.Cluster, former); err != nil {
			return err
		}
		if t.reached, err = readReached(ctx, w.catalog, w.options.Cluster, former); err != nil {
			return err
		}
		found, err = readVersions(ctx, w.catalog, w.options.Cluster)
		return err
	})
	if err != nil {
		return err
	}
	w.noteBeyond(found)
	if former == "" && w.options.Lease == nil { // nobody has written before
		w.endTakeover()
		return nil
	}
	// A former leader that has not noticed the end of its lease may still send rows, with versions up to that end.
	// The rows in the journal get versions above these, and new rows get versions above both.
	t.since = time.Now()
	t.last = found.highest
	if end := micros(leaseEnd); end <= VersionCeiling(t.since) {
		t.last = max(t.last, end)
	}
	t.floor = max(t.last, w.options.Journal.Version(), micros(t.since)) + uint64(w.options.Journal.Stats().Rows) + uncommittedRows
	w.floor.Store(t.floor)
	w.takeover = t
	level.Info(w.options.Logger).Log("msg", "taking over the catalog", "from", former, "waiting_rows", w.options.Journal.Stats().Rows)
	return nil
}

// noteBeyond logs and exports how many rows have versions that are not followed.
func (w *Writer) noteBeyond(found versionsFound) {
	w.metrics.beyond.Set(float64(found.beyond))
	if slices.Sort(found.in); found.beyond > 0 {
		level.Warn(w.options.Logger).Log("msg", "rows in the catalog hide newer ones: their versions are more than a year ahead of this machine's clock, and are ignored",
			"rows", found.beyond, "tables", strings.Join(found.in, ","), "cure", "set the clock, or mend the rows as docs/catalog.md says under Row versions")
	}
}

// catchUp prepares a term for rule 2: it waits for this tracker's watches, and looks through the batches of the
// journal. It returns false if ctx ended before the term may begin. The error is the journal's.
func (w *Writer) catchUp(ctx context.Context) (bool, error) {
	limited, cancel := context.WithTimeout(ctx, catchUpWithin)
	defer cancel()
	t := &w.takeover
	var behind fact.Kind
	var asked time.Time
	var unknown error
	err := wait.PollUntilContextCancel(limited, 100*time.Millisecond, true, func(context.Context) (bool, error) {
		if unknown == nil || time.Since(asked) > compareEvery {
			asked = time.Now()
			unknown = w.leaveOutForeign(limited, slices.Collect(maps.Keys(t.reached)), t.compared, t.written, t.reached) // reached has all kinds of written
		}
		before := behind
		if behind = w.behind(); behind != "" && before == "" {
			level.Info(w.options.Logger).Log("msg", "waiting for this tracker's watch to reach what others have written", "kind", behind)
		}
		return behind == "" && unknown == nil, nil
	})
	if ctx.Err() != nil {
		return false, nil
	}
	if err != nil {
		level.Warn(w.options.Logger).Log("msg", "this tracker's watch is behind what others have written; writing anyway", "kind", behind, "waited", catchUpWithin, "err", unknown)
	}
	if unknown == nil {
		if err := w.acknowledgeWritten(ctx, t.written, t.compared); err != nil {
			return false, err
		}
	}
	return true, w.findRepeated()
}

// behind returns a kind whose position in the journal is behind the checkpoints of others; empty if there is none. A
// kind that this tracker may not list does not count: it has no position, though the others, which get theirs
// together with the first lists, do.
func (w *Writer) behind() fact.Kind {
	positions := w.options.Journal.Positions()
	for kind, version := range w.takeover.reached {
		if p, seen := positions[string(kind)]; (seen || len(positions) == 0) && fact.VersionNumber(p.ResourceVersion) < version {
			return kind
		}
	}
	return ""
}

// findRepeated finds the last row of each key in the batches that can have rows that others have written. These
// batches end where, for each kind, the checkpoints have passed those of the others.
func (w *Writer) findRepeated() error {
	t, past := &w.takeover, checkpointMap{}
	positions := w.options.Journal.Positions()
	maps.DeleteFunc(t.reached, func(kind fact.Kind, _ uint64) bool { _, seen := positions[string(kind)]; return !seen })
	t.latest = map[string]uint64{}
	for len(t.latest) < mostRepeated && !past.reaches(t.reached) {
		b, err := w.peek(t.until)
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

// adapt changes a batch by rules 1 to 3, after which it can be written. Its error is that of ctx.
func (w *Writer) adapt(ctx context.Context, b *batch) error {
	t, facts := &w.takeover, &b.facts
	if t.since.IsZero() {
		return nil
	}
	t.dropRepeated(b)
	t.raise(facts)
	if b.recorded.After(t.since.Add(overlap)) {
		w.endTakeover()
		return nil
	}
	written := t.written
	if err := w.leaveOutForeign(ctx, slices.Collect(maps.Keys(written)), t.compared, written); err != nil {
		written = nil // rather twice than never
	}
	facts.Changes = slices.DeleteFunc(facts.Changes, func(c fact.Change) bool {
		return written.covers(c.EventKind(), c.ResourceVersion)
	})
	facts.StorageCapacity = slices.DeleteFunc(facts.StorageCapacity, func(s fact.StorageCapacity) bool {
		return written.covers(fact.StorageCapacities, s.ResourceVersion)
	})
	// The former leader may have died between its last rows and their checkpoint: look for those rows.
	span := spanOf(facts, t.since)
	if span.from.IsZero() {
		return nil
	}
	return w.persist(ctx, func(ctx context.Context) error {
		present, err := readEvents(ctx, w.catalog, w.options.Cluster, span)
		if err == nil {
			facts.Changes = slices.DeleteFunc(facts.Changes, func(c fact.Change) bool { return present[keyOf(&c)] })
			facts.StorageCapacity = slices.DeleteFunc(facts.StorageCapacity, func(s fact.StorageCapacity) bool { return present[sampleKey(&s)] })
		}
		return err
	})
}

// endTakeover calls WriterOptions.AfterTakeover the first time.
func (w *Writer) endTakeover() {
	if w.options.AfterTakeover != nil {
		w.overOnce.Do(w.options.AfterTakeover)
	}
}

// dropRepeated drops the rows of a batch that later batches in the journal replace (rule 2). It moves the checkpoints
// of all batches up to until into batch until. A checkpoint promises that the rows before it are in the catalog, and
// for a dropped row this is true only once the row that replaces it is there.
func (t *takeover) dropRepeated(b *batch) {
	if b.number > t.until {
		t.latest, t.checkpoints = nil, nil // their memory can be freed
		return
	}
	keepRows(&b.facts, func(key string, version uint64) bool { return version >= t.latest[key] })
	if t.checkpoints == nil {
		t.checkpoints = map[fact.Kind]fact.Checkpoint{}
	}
	for _, p := range b.facts.Checkpoints {
		t.checkpoints[p.Kind] = p
	}
	b.facts.Checkpoints = nil
	if b.number == t.until {
		b.facts.Checkpoints = slices.Collect(maps.Values(t.checkpoints))
	}
}

// keepRows removes the rows with a version for which do returns false.
func keepRows(facts *fact.Facts, do func(key string, version uint64) bool) {
	for _, table := range allTables {
		if table.keep != nil {
			table.keep(facts, do)
		}
	}
}

// raise gives the rows from before the takeover versions above those of the former leader, in their order (rule 1).
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

// changeKey identifies a change: all trackers that have seen it make the same key.
type changeKey struct {
	kind, uid, action, details, version string
	at                                  int64 // of a change that the API dates, in microseconds
}

func keyOf(c *fact.Change) changeKey {
	return changeKey{c.Kind, c.UID, string(c.Action), c.Details, c.ResourceVersion, int64(c.At)}.common()
}

// common leaves out the fields in which trackers can differ about the same change: a tracker that finds an object
// later sees another size of a claim that has grown, and another phase before the present one; and each tracker dates
// an event that it observes by its own clock.
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

// span is where to look in the catalog for the changes and samples of a batch.
type span struct {
	from     time.Time // zero if there is nothing to look for
	low, top uint64    // resource versions
}

// clocksApart is by how much the clocks of two trackers may differ.
const clocksApart = time.Hour

// spanOf returns where to look for the changes that this tracker has dated by its own clock.
//
// Changes that the API dates have the same key in every tracker, except for the actor, if one tracker saw an object
// created and the other found it changed since; these are looked for in the hour before the takeover. A dispute is no
// event of the cluster, and has no version.
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

const presentEvents = `
SELECT toString(kind), uid, toString(action), details, resource_version, toUnixTimestamp64Micro(at) FROM changes
WHERE cluster = {cluster:String} AND at >= fromUnixTimestamp64Micro({from:Int64})
    AND (resource_version = '' OR toUInt64OrZero(resource_version) BETWEEN {low:UInt64} AND {top:UInt64})
UNION ALL
SELECT 'CSIStorageCapacity', uid, '', '', resource_version, 0 FROM storage_capacity
WHERE cluster = {cluster:String} AND at >= fromUnixTimestamp64Micro({from:Int64})
    AND toUInt64OrZero(resource_version) BETWEEN {low:UInt64} AND {top:UInt64}`

// readEvents reads which changes and samples of a span are in the catalog, by any tracker.
func readEvents(ctx context.Context, c *catalog.Catalog, cluster string, s span) (map[changeKey]bool, error) {
	q := newQuestions(ctx, c, cluster, "")
	q.parameters["from"] = strconv.FormatInt(s.from.UnixMicro(), 10)
	q.parameters["low"], q.parameters["top"] = strconv.FormatUint(s.low, 10), strconv.FormatUint(s.top, 10)
	present := map[changeKey]bool{}
	q.each(presentEvents, func(rows driver.Rows) error {
		var key changeKey
		err := rows.Scan(&key.kind, &key.uid, &key.action, &key.details, &key.version, &key.at)
		present[key.common()] = true
		return err
	})
	return present, q.err
}
