package catalog_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/catalog/ingest"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// watchedSeconds is how many seconds before Clock the trackers of an observedCluster may have watched.
const watchedSeconds = 400

// observedCluster is a cluster whose pods random trackers watched in random spans. All moments are seconds from the
// first that may be watched.
type observedCluster struct {
	facts fact.Facts
	rnd   *rand.Rand
	seen  [watchedSeconds]bool // the seconds in which any tracker watched
	spans [][2]int64           // those of the trackers, joined where they overlap, oldest first
	end   int64                // of the last span
}

// moment is the time of a second.
func moment(second int64) fact.Time {
	return fact.Time((catalogtest.Clock().Unix() - watchedSeconds + second) * 1e6)
}

// watch adds the spans of up to 7 trackers.
func (o *observedCluster) watch() {
	var all [][2]int64
	for j := range o.rnd.IntN(8) {
		from := o.rnd.Int64N(watchedSeconds)
		to := min(watchedSeconds, from+o.rnd.Int64N(60))
		row := fact.Coverage{Version: 1, Instance: fmt.Sprint("i", j), Kind: fact.Pods, StartedAt: moment(from), SeenAt: moment(to)}
		if o.rnd.IntN(2) == 0 {
			row.EndedAt = moment(to)
		}
		o.facts.Coverage = append(o.facts.Coverage, row)
		for s := from; s < to; s++ {
			o.seen[s] = true
		}
		all = append(all, [2]int64{from, to})
		o.end = max(o.end, to)
	}
	slices.SortFunc(all, func(a, b [2]int64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	for _, s := range all {
		if n := len(o.spans); n > 0 && s[0] <= o.spans[n-1][1] {
			o.spans[n-1][1] = max(o.spans[n-1][1], s[1])
		} else {
			o.spans = append(o.spans, s)
		}
	}
}

// unwatched reports whether the condition Unused at a second can show a use after since: only if no tracker watched
// then, in a gap or before the first span.
func (o *observedCluster) unwatched(since, second int64) bool {
	for i, s := range o.spans {
		within := s[0] <= second && (second <= s[1] || i == len(o.spans)-1)
		if within && (s[0] <= since || second > s[0]+10) {
			return false
		}
	}
	return true
}

// addVolume adds an idle volume, half of which have the condition Unused, and returns how many seconds of its idle
// time are observed.
func (o *observedCluster) addVolume(name string, withUnused bool) (observed int64) {
	since, unused := 1+o.rnd.Int64N(watchedSeconds-1), 1+o.rnd.Int64N(watchedSeconds-1)
	claim := fact.Claim{Version: 1, UID: "claim-" + name, Namespace: "shop", Name: name, VolumeUID: name, Phase: "Bound", CreatedAt: moment(0), BoundAt: moment(0)}
	mount := fact.Mount{Version: 1, Namespace: "shop", PodUID: "p", Container: "main", Volume: name, MountPath: "/" + name,
		ClaimUID: claim.UID, ClaimName: name, VolumeUID: name, StartedAt: moment(0), EndedAt: moment(since), EndedNotBefore: moment(since)}
	if withUnused {
		claim.UnusedSince = moment(unused)
	} else {
		unused = watchedSeconds
	}
	o.facts.Volumes = append(o.facts.Volumes, fact.Volume{Version: 1, UID: name, Name: name, ClaimUID: claim.UID, Phase: "Bound", CreatedAt: moment(0)})
	o.facts.Claims, o.facts.Mounts = append(o.facts.Claims, claim), append(o.facts.Mounts, mount)
	if withUnused && unused > since && o.unwatched(since, unused) {
		since = unused
	}
	for s := since; s < o.end; s++ {
		if o.seen[s] || s >= unused {
			observed++
		}
	}
	return observed
}

// TestObservedTimeOfTheIdleReport compares observed_seconds with a count of the seconds, and the restored spans with
// the seconds in which a tracker watched.
func TestObservedTimeOfTheIdleReport(t *testing.T) {
	c := migrated(t)
	rnd := rand.New(rand.NewPCG(7, 8))
	for i := range 15 {
		cluster, o := fmt.Sprint("c", i), &observedCluster{rnd: rnd}
		o.watch()
		want := map[string]int64{}
		for j := range 10 {
			name := fmt.Sprint("v", j)
			want[name] = o.addVolume(name, j%2 == 0)
		}
		write(t, c, cluster, &o.facts)
		expectObserved(t, c, cluster, want)
		expectRestoredSpans(t, c, cluster, o.seen)
	}
}

func expectObserved(t *testing.T, c *catalog.Catalog, cluster string, want map[string]int64) {
	t.Helper()
	result, err := c.RunReport(t.Context(), "idle", map[string]string{"cluster": cluster}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer result.Close()
	n := 0
	for ; result.Next(); n++ {
		row := map[string]any{}
		for i, column := range result.Columns {
			row[column.Name] = result.Row()[i]
		}
		if name := row["volume"].(string); row["observed_seconds"] != want[name] {
			t.Errorf("%s in %s: %v of %v s are observed, want %d", name, cluster, row["observed_seconds"], row["idle_seconds"], want[name])
		}
	}
	if result.Err() != nil || n != len(want) {
		t.Fatalf("%d rows, %v", n, result.Err())
	}
}

// expectRestoredSpans expects that a tracker with a new journal restores the seconds in which any tracker watched.
func expectRestoredSpans(t *testing.T, c *catalog.Catalog, cluster string, seen [watchedSeconds]bool) {
	t.Helper()
	known, err := ingest.RestoreCatalog(t.Context(), c, cluster, "new")
	if err != nil {
		t.Fatal(err)
	}
	var got [watchedSeconds]bool
	var watched []fact.Span
	if known != nil {
		watched = known.Watched
	}
	for i, s := range watched {
		if i > 0 && s.From <= watched[i-1].To {
			t.Errorf("%s: %v are not apart", cluster, watched)
		}
		for second := int64(s.From-moment(0)) / 1e6; second < int64(s.To-moment(0))/1e6; second++ {
			got[second] = true
		}
	}
	if got != seen {
		t.Errorf("%s: restored are %v", cluster, watched)
	}
}
