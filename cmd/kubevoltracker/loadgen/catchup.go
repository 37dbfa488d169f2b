package loadgen

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog"
)

// catchUp bounds how long Verify waits for the catalog.
const catchUp = time.Minute

// awaitCatalog waits until the catalog has all events up to the last ones of the account, by the table checkpoints.
func (t *truth) awaitCatalog(ctx context.Context, c *catalog.Catalog, cluster string, progress io.Writer) error {
	needed := map[string]uint64{}
	for _, l := range t.life {
		if len(l.versions) > 0 {
			needed[l.kind] = max(needed[l.kind], l.last().number)
		}
	}
	for start := time.Now(); ; {
		behind, err := t.lacking(ctx, c, cluster, needed)
		if err != nil {
			return err
		}
		if len(behind) == 0 {
			return nil
		}
		if time.Since(start) > catchUp {
			t.behind = behind
			fmt.Fprintf(progress, "note: after %s the catalog still lacks the last events of %s: is its tracker running?\n", catchUp, strings.Join(behind, ", "))
			return nil
		}
		if !sleep(ctx, 200*time.Millisecond) {
			return ctx.Err()
		}
	}
}

// reached asks how far each kind has been written, of the cluster that has rows of the run. If several trackers wrote
// the run under different names of the cluster, the one that is the furthest behind counts.
const reached = `SELECT kind, min(version) FROM (
    SELECT cluster, kind, max(toUInt64OrZero(resource_version)) AS version FROM checkpoints GROUP BY cluster, kind)
WHERE cluster IN (` + clustersOfRun + `) GROUP BY kind`

// clustersOfRun are the names under which the catalog has rows of the run.
const clustersOfRun = `SELECT cluster FROM (
        SELECT cluster, name FROM volumes WHERE startsWith(name, {prefix:String})
        UNION ALL SELECT cluster, name FROM claims WHERE namespace = {namespace:String}
        UNION ALL SELECT cluster, name FROM pods WHERE namespace = {namespace:String})
    WHERE (startsWith(name, {prefix:String}) OR startsWith(name, {template:String})) AND {cluster:String} IN ('', cluster)`

// lacking returns the kinds of which the catalog lacks events.
func (t *truth) lacking(ctx context.Context, c *catalog.Catalog, cluster string, needed map[string]uint64) (kinds []string, err error) {
	result, err := c.Query(ctx, reached, t.parameters(cluster, time.Time{}))
	if err != nil {
		return nil, err
	}
	defer result.Close()
	reached := map[string]uint64{}
	for result.Next() {
		kind, _ := result.Row()[0].(string)
		reached[kind], _ = result.Row()[1].(uint64)
	}
	for kind, number := range needed {
		if reached[kind] < number {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return kinds, result.Err()
}

// gaps returns the times in which nobody watched a cluster that has rows of the run.
func (t *truth) gaps(ctx context.Context, c *catalog.Catalog, cluster string) ([]catalog.Gap, error) {
	result, err := c.Query(ctx, clustersOfRun, t.parameters(cluster, time.Time{}))
	if err != nil {
		return nil, err
	}
	defer result.Close()
	ours := map[any]bool{}
	for result.Next() {
		ours[result.Row()[0]] = true
	}
	if err := result.Err(); err != nil {
		return nil, err
	}
	list, err := c.Gaps(ctx, cluster)
	return slices.DeleteFunc(list, func(g catalog.Gap) bool { return !ours[g.Cluster] }), err
}
