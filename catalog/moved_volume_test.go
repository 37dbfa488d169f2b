package catalog_test

import (
	"fmt"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// TestAVolumeThatMoved: a volume was released, made available and bound in another namespace; one failed in the second in which it was
// released, and one after a Kubernetes that does not date phases; one was provisioned in vain for a claim that has another.
func TestAVolumeThatMoved(t *testing.T) {
	c := migrated(t)
	volume := func(name, claim, namespace, phase string, phased fact.Time) fact.Volume {
		v := volumeOf(name, "fast", "csi:"+name, "claim-"+claim, phase, 1)
		v.ClaimNamespace, v.PhaseChangedAt = namespace, phased
		return v
	}
	binding := func(claim, namespace, volume string, bound, released fact.Time) fact.Binding {
		return fact.Binding{Version: 1, Namespace: namespace, ClaimName: claim, ClaimUID: "claim-" + claim, VolumeUID: volume, BoundAt: bound, ReleasedAt: released, ReleasedNotBefore: released}
	}
	phase := func(at fact.Time, volume, details string) fact.Change {
		return fact.Change{At: at, Kind: "PersistentVolume", UID: volume, Name: "pv-" + volume, Action: fact.Phase, Details: details}
	}
	a, b, f, o := claimOf("a", "fast", "moved", 1), claimOf("b", "fast", "moved", 1), claimOf("f", "fast", "failed", 1), claimOf("o", "fast", "old", 1)
	b.Namespace, b.CreatedAt = "lab", day(2, 1)
	for _, gone := range []*fact.Claim{&f, &o} {
		gone.DeletedAt, gone.DeletedNotBefore = day(1, 20), day(1, 20)
	}
	write(t, c, "east", &fact.Facts{
		Volumes: []fact.Volume{
			volume("moved", "b", "lab", "Bound", day(2, 1)), volume("failed", "f", "shop", "Failed", day(1, 20)), volume("old", "o", "shop", "Failed", 0),
			volume("vain", "a", "shop", "Released", day(1, 1)),
		},
		Claims: []fact.Claim{a, b, f, o},
		Bindings: []fact.Binding{
			binding("a", "shop", "moved", day(1, 2), day(1, 10)), binding("b", "lab", "moved", day(2, 1), 0),
			binding("f", "shop", "failed", day(1, 2), day(1, 20)), binding("o", "shop", "old", day(1, 2), day(1, 20)),
		},
		Changes: []fact.Change{
			phase(day(1, 10), "moved", "Bound → Released"), phase(day(1, 15), "moved", "Released → Available"), phase(day(2, 1), "moved", "Available → Bound"),
			phase(day(1, 20), "failed", "Bound → Released"), phase(day(1, 20), "failed", "Released → Failed"),
		},
	})
	run := func(report, of string, flags ...string) string { return column(t, c, report, of, flags...) }
	checkCases(t, run, []reportCase{
		{"counts", "count", "at=2026-01-05 namespace=shop", "4,3"}, // volumes, claims
		{"at", "persistentvolume", "at=2026-01-12 namespace=shop", "pv-failed,pv-moved,pv-old,pv-vain"},
		{"at", "persistentvolume", "at=2026-01-17 namespace=shop", "pv-failed,pv-old,pv-vain"},
		{"at", "persistentvolume", "at=2026-02-10 namespace=lab", "pv-moved"},
		{"at", "persistentvolume", "namespace=shop", "pv-failed,pv-old,pv-vain"},
		{"at", "persistentvolume", "namespace=lab", "pv-moved"},
		{"at", "claim", "at=2026-01-12 namespace=shop", "f,,o,"},
		{"counts", "count", "at=2026-01-12 namespace=shop", "4,3"}, // released
		{"counts", "count", "at=2026-01-17 namespace=shop", "3,3"}, // available
		{"counts", "count", "at=2026-02-10 namespace=shop", "3,1"},
		{"counts", "kind", "at=2026-01-12 namespace=lab", ""},
		{"counts", "count", "at=2026-02-10 namespace=lab", "1,1"},
		{"diff", "name", "since=2025-12-31 until=2026-01-12 namespace=shop", "pv-failed,pv-failed,pv-moved,pv-old,pv-old,pv-vain,a,f,o"}, // came, bound
		{"diff", "name", "since=2025-12-31 until=2026-01-17 namespace=shop", "pv-failed,pv-failed,pv-old,pv-old,pv-vain,a,f,o"},
		{"diff", "namespace", "since=2025-12-31 until=2026-01-17 storageclass=fast", ",shop,shop,shop,shop,shop,shop,shop,shop"}, // moved is available
		{"diff", "name", "since=2025-12-31 until=2026-02-10 namespace=lab", "pv-moved,pv-moved,b"},
		{"space", "released_volumes", "at=2026-01-12 by=namespace namespace=shop", "2"}, // moved, vain
		{"space", "released_volumes", "at=2026-01-17 by=namespace namespace=shop", "1"},
		{"space", "released_volumes", "at=2026-01-25 by=namespace namespace=shop", "1"},
		{"space", "bound_volumes", "at=2026-01-12 by=namespace namespace=shop", "2"},
	})
	// No binding tells that vain was the volume of a claim.
	claims := fmt.Sprint(catalogtest.Rows(t, c, `SELECT v.uid, n.namespace, c.name FROM claimed_volumes AS n FINAL
		INNER JOIN volumes AS v ON v.uid_key = n.volume_key INNER JOIN claims AS c ON c.uid_key = n.claim_key ORDER BY ALL`))
	if want := "[[failed shop f] [moved lab b] [moved shop a] [old shop o] [vain shop a]]"; claims != want {
		t.Errorf("claimed_volumes: got %s, want %s", claims, want)
	}
	got := fmt.Sprint(catalogtest.Rows(t, c, `SELECT toString(day), namespace, bound_volumes FROM space_daily
		WHERE day IN ('2026-01-12', '2026-01-17', '2026-01-25', '2026-02-10') AND bound_volumes > 0 ORDER BY day, namespace`))
	if want := "[[2026-01-12 shop 4] [2026-01-17 shop 3] [2026-01-25 shop 1] [2026-02-10 lab 1] [2026-02-10 shop 1]]"; got != want {
		t.Errorf("space_daily: got %s, want %s", got, want)
	}
}
