package truth

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

// TestAlign compares what the catalog has of the bindings of a claim and a volume, which were bound at 1:00 and at 2:00,
// with the numbers that the truth gives to it. Nobody watched from 0:50 to 1:50, and nobody need know of the first one.
func TestAlign(t *testing.T) {
	at := func(hour, minute int) time.Time { return time.Date(2026, 1, 1, hour, minute, 0, 0, time.UTC) }
	lossy := Gaps{{From: at(0, 50), To: at(1, 50), Lossy: true}}
	table := scopeTable{Table: Table{Name: "binding"}, from: "bound_at", to: "released_at"}
	truth := &Truth{Facts: facts{"binding": {
		"c v 0": {"bound_at": exactly(at(1, 0)), "released_at": exactly(at(1, 30))},
		"c v 1": {"bound_at": exactly(at(2, 0)), "released_at": absent},
	}}}
	for name, test := range map[string]struct {
		away  Gaps
		found []time.Time
		want  []string
	}{
		"both":                       {lossy, []time.Time{at(1, 0), at(2, 0)}, []string{"c v 0 01:00", "c v 1 02:00"}},
		"the second one":             {lossy, []time.Time{at(2, 0)}, []string{"c v 1 02:00"}},
		"the first one":              {lossy, []time.Time{at(1, 0)}, []string{"c v 0 01:00"}},
		"the second one, no gap":     {nil, []time.Time{at(2, 0)}, []string{"c v 0 02:00"}},
		"one that there never was":   {lossy, []time.Time{at(1, 0), at(1, 30), at(2, 0)}, []string{"c v 0 01:00", "c v 1 01:30", "c v 2 02:00"}},
		"another, and not the first": {lossy, []time.Time{at(2, 0), at(3, 0)}, []string{"c v 0 02:00", "c v 1 03:00"}},
	} {
		t.Run(name, func(t *testing.T) {
			found := map[string][]map[string]string{}
			for n, bound := range test.found {
				found[fmt.Sprint("c v ", n)] = []map[string]string{{"bound_at": bound.Format(microseconds)}}
			}
			aligned := truth.align(table, found, test.away)
			var got []string
			for _, key := range slices.Sorted(maps.Keys(aligned)) {
				got = append(got, key+" "+aligned[key][0]["bound_at"][11:16])
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("the rows are %q, want %q", got, test.want)
			}
		})
	}
}
