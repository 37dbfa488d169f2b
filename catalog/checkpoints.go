package catalog

import (
	"context"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// checkpointMap is how far each kind has been written by a tracker.
type checkpointMap map[fact.Kind]uint64

// covers reports whether what a kind's resource version showed has been written. Of a
// version that is no number that is not known.
func (m checkpointMap) covers(kind fact.Kind, resourceVersion string) bool {
	version := fact.VersionNumber(resourceVersion)
	return version > 0 && version <= m[kind]
}

// reaches reports whether all kinds of another map are as far.
func (m checkpointMap) reaches(other checkpointMap) bool {
	for kind, version := range other {
		if m[kind] < version {
			return false
		}
	}
	return true
}

// latestCheckpoints are those of one tracker.
const latestCheckpoints = `
SELECT kind, resource_version FROM checkpoints
WHERE cluster = {cluster:String} AND instance = {instance:String}`

// reachedCheckpoints are, for each kind, the resource version of the last event that any tracker has
// written. Trackers that wrote nothing for a day are left out: those that wrote since have read past them.
const reachedCheckpoints = `
SELECT kind, toString(max(toUInt64OrZero(if(event_version = '', resource_version, event_version)))) FROM checkpoints
WHERE cluster = {cluster:String} AND (instance = {instance:String} OR at > now64() - INTERVAL 1 DAY) GROUP BY kind`

const lastWriter = `
SELECT argMax(instance, at) FROM checkpoints WHERE cluster = {cluster:String} AND instance != {instance:String}`

// checkpoints reads how far an instance has written.
func (c *Catalog) checkpoints(ctx context.Context, cluster, instance string) (checkpointMap, error) {
	return c.checkpointsOf(ctx, latestCheckpoints, cluster, instance)
}

// reached reads how far an instance, or any that has written lately, has written.
func (c *Catalog) reached(ctx context.Context, cluster, instance string) (checkpointMap, error) {
	return c.checkpointsOf(ctx, reachedCheckpoints, cluster, instance)
}

func (c *Catalog) checkpointsOf(ctx context.Context, question, cluster, instance string) (checkpointMap, error) {
	q := c.asking(ctx, cluster, instance)
	m := checkpointMap{}
	q.each(question, func(rows driver.Rows) error {
		var kind, text string
		if err := rows.Scan(&kind, &text); err != nil {
			return err
		}
		m[fact.Kind(kind)] = fact.VersionNumber(text)
		return nil
	})
	return m, q.err
}

// lastWriter tells which instance other than the given one wrote last; empty if none did.
func (c *Catalog) lastWriter(ctx context.Context, cluster, instance string) (other string, err error) {
	q := c.asking(ctx, cluster, instance)
	q.each(lastWriter, func(rows driver.Rows) error { return rows.Scan(&other) })
	return other, q.err
}

// highestVersion is that of all rows of a cluster. It reads one column of each table.
func (c *Catalog) highestVersion(ctx context.Context, cluster string) (version uint64, err error) {
	q := c.asking(ctx, cluster, "")
	q.ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"final": 0}))
	q.each(heldVersion, func(rows driver.Rows) error { return rows.Scan(&version) })
	return version, q.err
}
