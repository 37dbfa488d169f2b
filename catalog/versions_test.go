package catalog_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// TestVersionsAreCopied: ClickHouse copies single fields of the versions in objects, whatever these contain, and a version that is written
// again by a late tracker keeps the time at which it was first observed.
func TestVersionsAreCopied(t *testing.T) {
	c := migrated(t)
	object := func(kind fact.Kind, version string, at fact.Time, text string) fact.Object {
		return fact.Object{Kind: kind, UID: "u", Namespace: "shop", Name: "n", ResourceVersion: version, ObservedAt: at, Object: text}
	}
	unused := func(status, since string) string {
		return `{"status":{"conditions":[{"type":"Resizing","status":"True"},{"type":"Unused","status":"` + status + `","lastTransitionTime":"` + since + `"}]}}`
	}
	size := func(quantity string) string {
		return `{"spec":{"capacity":{"storage":"` + quantity + `"}},"status":{"phase":"Bound","lastPhaseTransitionTime":"2026-01-02T12:00:00Z"}}`
	}
	first := &fact.Facts{Objects: []fact.Object{
		object(fact.Claims, "1", day(1, 1), unused("True", "2026-01-01T00:00:00Z")), object(fact.Claims, "2", day(1, 2), unused("False", "2026-01-02T00:00:00Z")),
		object(fact.Claims, "3", day(1, 3), unused("True", "soon")), object(fact.Claims, "4", day(1, 4), unused("True", "2026-01-04T01:02:03Z")),
		object(fact.Claims, "5", day(1, 5), `{"metadata":{"labels":{"a":"\"Unused\""}}}`), object(fact.Claims, "6", day(1, 6), `"Unused" is no JSON`),
		object(fact.Claims, "7", day(1, 7), `{"status":{"conditions":{"type":"Unused"}}}`), object(fact.Pods, "8", day(1, 8), unused("True", "2026-01-01T00:00:00Z")),
		object(fact.Volumes, "1", day(1, 1), size("10Gi")), object(fact.Volumes, "2", day(1, 2), size("1500")), object(fact.Volumes, "3", day(1, 3), size("7Ei")),
		object(fact.Volumes, "4", day(1, 4), size("8Ei")), object(fact.Volumes, "5", day(1, 5), size("1e3")), object(fact.Volumes, "6", day(1, 6), `no JSON`),
	}}
	late := &fact.Facts{Objects: slices.Clone(first.Objects)}
	for i := range late.Objects {
		late.Objects[i].ObservedAt += 1000
	}
	write(t, c, "east", first)
	write(t, c, "east", late)
	for sql, want := range map[string]string{
		`SELECT resource_version, toString(observed_at), ifNull(toString(unused_since), '-') FROM unused_conditions FINAL WHERE namespace = 'shop' AND claim_uid = 'u' ORDER BY 1`: "[[1 2026-01-01 12:00:00.000000 2026-01-01 00:00:00.000000] [2 2026-01-02 12:00:00.000000 -] [3 2026-01-03 12:00:00.000000 -] [4 2026-01-04 12:00:00.000000 2026-01-04 01:02:03.000000]]",
		`SELECT resource_version, ifNull(toString(capacity_bytes), '-'), phase FROM volume_versions FINAL WHERE volume_uid = 'u' ORDER BY 1`:                                       "[[1 10737418240 Bound] [2 1500 Bound] [3 8070450532247928832 Bound] [4 - Bound] [5 - Bound] [6 - ]]",
		`SELECT toString(observed_at), ifNull(toString(phase_changed_at), '-') FROM volume_versions FINAL WHERE resource_version IN ('1', '6') ORDER BY 1`:                         "[[2026-01-01 12:00:00.000000 2026-01-02 12:00:00.000000] [2026-01-06 12:00:00.000000 -]]",
	} {
		if got := fmt.Sprint(rows(t, c, sql)); got != want {
			t.Errorf("%s\n got %s\nwant %s", sql, got, want)
		}
	}
}
