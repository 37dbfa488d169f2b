package loadgen

import (
	"context"
	"fmt"
	"io"
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
		behind, err := t.behind(ctx, c, cluster, needed)
		if err != nil {
			return err
		}
		if len(behind) == 0 {
			return nil
		}
		if time.Since(start) > catchUp {
			fmt.Fprintf(progress, "note: after %s the catalog still lacks the last events of %s: is its tracker running?\n", catchUp, strings.Join(behind, ", "))
			return nil
		}
		if !sleep(ctx, 200*time.Millisecond) {
			return ctx.Err()
		}
	}
}

// behind returns the kinds of which the catalog lacks events.
func (t *truth) behind(ctx context.Context, c *catalog.Catalog, cluster string, needed map[string]uint64) (kinds []string, err error) {
	sql := `SELECT kind, max(toUInt64OrZero(resource_version)) AS reached FROM checkpoints WHERE (cluster = {cluster:String} OR {cluster:String} = '') GROUP BY kind`
	result, err := c.Query(ctx, sql, map[string]string{"cluster": cluster})
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
	return kinds, result.Err()
}
