package ingest

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/go-kit/log/level"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// checkpointMap says, for each kind, up to which resource version a tracker has written all rows to the catalog.
type checkpointMap map[fact.Kind]uint64

// covers reports whether the rows of an event with this resource version have been written. It is false for a
// version that is no number, which cannot be compared.
func (m checkpointMap) covers(kind fact.Kind, resourceVersion string) bool {
	version := fact.VersionNumber(resourceVersion)
	return version > 0 && version <= m[kind]
}

// reaches reports whether each kind of the other map is covered up to its version there.
func (m checkpointMap) reaches(other checkpointMap) bool {
	for kind, version := range other {
		if m[kind] < version {
			return false
		}
	}
	return true
}

// leaveOutForeign removes from the checkpoints of other trackers those of another history of the cluster. Resource versions of one etcd can be
// compared: what has a number up to a checkpoint's is older. But after etcd was restored from a backup, and where a cluster was made anew under its
// name, all that happens has numbers below the old checkpoints, and nobody has written it. Such a checkpoint is ahead of the API server.
//
// It asks the API server for kinds of which this tracker's own watch is behind the checkpoint, once for each kind: compared has those. What it
// cannot compare stays, and the error says why.
func (w *Writer) leaveOutForeign(ctx context.Context, kinds []fact.Kind, compared map[fact.Kind]bool, of ...checkpointMap) error {
	if w.options.CurrentVersion == nil {
		return nil
	}
	positions := w.options.Journal.Positions()
	for _, kind := range kinds {
		var checkpoint uint64
		for _, m := range of {
			checkpoint = max(checkpoint, m[kind])
		}
		if p, seen := positions[string(kind)]; compared[kind] || !seen || fact.VersionNumber(p.ResourceVersion) >= checkpoint {
			continue
		}
		current, err := w.options.CurrentVersion(ctx, kind)
		if err != nil {
			return fmt.Errorf("ask the API server for its version: %w", err)
		}
		if compared[kind] = true; current == 0 || current >= checkpoint {
			continue
		}
		level.Warn(w.options.Logger).Log("msg", "the API server is at an earlier version than another tracker's checkpoint, as after a restore of etcd; not going by that",
			"kind", kind, "version", current, "checkpoint", checkpoint)
		for _, m := range of {
			if m[kind] > current {
				delete(m, kind)
			}
		}
	}
	return nil
}

// latestCheckpoints asks for the checkpoints of one tracker.
const latestCheckpoints = `
SELECT kind, resource_version FROM checkpoints
WHERE cluster = {cluster:String} AND instance = {instance:String}`

// reachedCheckpoints asks, for each kind, for the resource version of the last event that any tracker has
// written. It leaves out trackers that wrote nothing for a day: those that wrote since have passed their versions.
const reachedCheckpoints = `
SELECT kind, toString(max(toUInt64OrZero(if(event_version = '', resource_version, event_version)))) FROM checkpoints
WHERE cluster = {cluster:String} AND (instance = {instance:String} OR at > now64() - INTERVAL 1 DAY) GROUP BY kind`

const lastWriter = `
SELECT argMax(instance, at) FROM checkpoints WHERE cluster = {cluster:String} AND instance != {instance:String}`

// readCheckpoints reads the checkpoints of an instance.
func readCheckpoints(ctx context.Context, c *catalog.Catalog, cluster, instance string) (checkpointMap, error) {
	return queryCheckpoints(newQuestions(ctx, c, cluster, instance), latestCheckpoints)
}

// readReached reads, for each kind, the highest event that this instance, or any that wrote lately, has written.
func readReached(ctx context.Context, c *catalog.Catalog, cluster, instance string) (checkpointMap, error) {
	return queryCheckpoints(newQuestions(ctx, c, cluster, instance), reachedCheckpoints)
}

func queryCheckpoints(q *questions, sql string) (checkpointMap, error) {
	m := checkpointMap{}
	q.each(sql, func(rows driver.Rows) error {
		var kind, text string
		if err := rows.Scan(&kind, &text); err != nil {
			return err
		}
		m[fact.Kind(kind)] = fact.VersionNumber(text)
		return nil
	})
	return m, q.err
}

// readLastWriter reads which instance other than the given one wrote last; empty if none did.
func readLastWriter(ctx context.Context, c *catalog.Catalog, cluster, instance string) (other string, err error) {
	q := newQuestions(ctx, c, cluster, instance)
	q.each(lastWriter, func(rows driver.Rows) error { return rows.Scan(&other) })
	return other, q.err
}
