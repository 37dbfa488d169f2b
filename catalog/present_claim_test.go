package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// TestVolumesWithoutBindingCountForTheirClaim has a volume that was provisioned in vain: its claim was bound to another
// one, so it has no binding, and is Released. In the past as now, it counts for the owner, the group and the namespace of
// the claim that it refers to. A volume that waits to be bound to that claim does not. A pod that mounts the claim, or waits for it, uses
// the other volume.
func TestVolumesWithoutBindingCountForTheirClaim(t *testing.T) {
	c := migrated(t)
	a := claimOf("a", "fast", "other", 1)
	a.Owner, a.Groups = "ann", []string{"g"}
	vain := volumeOf("vain", "fast", "csi:1", "claim-a", "Released", 1)
	vain.PhaseChangedAt = day(1, 2)
	write(t, c, "east", &fact.Facts{
		Volumes: []fact.Volume{vain, volumeOf("waits", "fast", "csi:3", "claim-a", "Available", 1), volumeOf("comes", "fast", "csi:4", "claim-a", "Pending", 1), volumeOf("other", "fast", "csi:2", "claim-a", "Bound", 1)}, Claims: []fact.Claim{a},
		Bindings: []fact.Binding{{Version: 1, ClaimUID: "claim-a", VolumeUID: "other", BoundAt: day(1, 2)}},
		Changes:  []fact.Change{{At: day(2, 2), Kind: "PersistentVolume", UID: "vain", Name: "pv-vain", Action: fact.Resized, Details: "1 → 1", ResourceVersion: "1"}},
	})
	expect := func(question, want string, flags ...string) {
		t.Helper()
		q := strings.Fields(question)
		for _, flag := range flags {
			if got := column(t, c, q[0], q[1], append(q[2:], flag)...); got != want {
				t.Errorf("%s with %q: %s, want %s", question, flag, got, want)
			}
		}
	}
	chosen := []string{"owner=ann", "group=g", "namespace=shop"}
	all := append([]string{"owner="}, chosen...)
	expect("idle volume at=2026-01-20", "pv-other,pv-vain", all...)
	expect("space released_volumes at=2026-01-20", "1", all...)
	expect("space capacity_byte_hours since=2026-01-10 until=2026-01-20", fmt.Sprint(2*10*24*gib), all...)
	// Three volumes of the claim, beside the one that waits.
	for _, moment := range []string{"at=", "at=2026-01-20"} {
		expect("at persistentvolume "+moment, "pv-comes,pv-other,pv-vain", chosen...)
		expect("counts count "+moment, "3,1", chosen...)
	}
	expect("creation-rate volumes since=2026-01-01 until=2026-01-02", "3", chosen...)
	expect("resizes name since=2026-01-01", "pv-vain", chosen...)
	web := podOf("shop", "web", "Deployment", "web")
	web.StartedAt = day(1, 3)
	write(t, c, "east", &fact.Facts{
		Pods: []fact.Pod{web}, Mounts: []fact.Mount{mountOf("web", "data", "a", "csi:2", "other", day(1, 3))},
		Containers: []fact.Container{{Version: 1, Namespace: "shop", PodCreatedAt: web.CreatedAt, PodUID: web.UID, Name: "main", Kind: "main", StartedAt: day(1, 3)}},
	})
	for _, at := range []string{"at=2026-01-03", "at=2026-01-20"} { // the pod waits for the other volume, and uses it
		expect("idle volume "+at, "pv-vain", "owner=", "owner=ann")
		expect("space idle_bytes "+at, fmt.Sprint(gib), "owner=", "owner=ann")
	}
	expect("space idle_byte_hours since=2026-01-10 until=2026-01-20", fmt.Sprint(10*24*gib), "owner=", "owner=ann")
	if got := fmt.Sprint(rows(t, c, "SELECT bound_volumes, toInt64(capacity_bytes) FROM space_daily WHERE day = '2026-01-20'")); got != fmt.Sprint([][]any{{2, 2 * gib}}) {
		t.Errorf("space_daily has %s", got)
	}
}

// TestAPodGoesOnWithAVolumeOfAnotherClaim: somebody removed the finalizer of a claim that a pod used. Its volume got another claim, of the same
// name or of another namespace, and the pod goes on with it.
func TestAPodGoesOnWithAVolumeOfAnotherClaim(t *testing.T) {
	c := migrated(t)
	for cluster, namespace := range map[string]string{"east": "shop", "west": "lab"} {
		v := volumeOf("v", "fast", "csi:1", "claim-next", "Bound", 1)
		v.ClaimNamespace, v.ClaimName = namespace, "data"
		former, next := claimOf("data", "fast", "v", 1), claimOf("data", "fast", "v", 1)
		former.DeletedAt, former.DeletedNotBefore = day(1, 10), day(1, 10)
		next.UID, next.Namespace, next.Owner, next.Groups = "claim-next", namespace, "ann", []string{"g"}
		next.CreatedAt, next.BoundAt = day(1, 11), day(1, 11)
		pods, mount := []fact.Pod{podOf("shop", "db-0", "StatefulSet", "db")}, mountOf("db-0", "data", "data", "csi:1", "v", day(1, 3))
		pods[0].CreatedAt, mount.PodCreatedAt = day(1, 3), day(1, 3)
		f := &fact.Facts{
			Volumes: []fact.Volume{v}, Claims: []fact.Claim{former, next}, Pods: pods, Mounts: []fact.Mount{mount},
			Bindings: []fact.Binding{
				{Version: 1, ClaimUID: "claim-data", VolumeUID: "v", BoundAt: day(1, 2), ReleasedAt: day(1, 10), ReleasedNotBefore: day(1, 10)},
				{Version: 1, ClaimUID: "claim-next", VolumeUID: "v", BoundAt: day(1, 11)},
			},
		}
		for _, kind := range []fact.Kind{fact.Pods, fact.Claims, fact.Volumes} {
			f.Coverage = append(f.Coverage, fact.Coverage{Version: 1, Instance: "a", Kind: kind, StartedAt: day(1, 18), SeenAt: day(1, 20)})
		}
		write(t, c, cluster, f)
		if got := column(t, c, "never-mounted", "claim", "cluster="+cluster); got != "" {
			t.Errorf("never mounted: %s", got)
		}
		for _, flag := range []string{"owner=", "owner=ann", "group=g", "namespace=" + namespace} {
			for _, question := range []string{"never-mounted claim at=2026-01-20", "idle volume at=2026-01-20", "space idle_bytes at=2026-01-20",
				"space idle_byte_hours since=2026-01-15T06:00 until=2026-01-20T06:00"} {
				q := strings.Fields(question)
				if got := column(t, c, q[0], q[1], append(q[2:], flag, "cluster="+cluster)...); strings.Trim(got, ",0") != "" {
					t.Errorf("%s: %q with %q: %s", cluster, question, flag, got)
				}
			}
		}
		if days, err := c.RollUp(t.Context(), cluster); err != nil || days != 2 {
			t.Fatalf("summed up %d days, %v", days, err)
		}
		sums := "SELECT sum(capacity_byte_seconds) > 0, sum(idle_byte_seconds) FROM byte_seconds_daily FINAL WHERE cluster = '" + cluster + "'"
		if got := fmt.Sprint(rows(t, c, sums)); got != "[[1 0]]" {
			t.Errorf("%s: space and idle space of days: %s", cluster, got)
		}
		mount = endedMount(mount, day(2, 1), day(2, 1), "Deleted")
		mount.Version = 2
		write(t, c, cluster, &fact.Facts{Pods: pods, Mounts: []fact.Mount{mount}})
		for _, at := range []string{"at=2026-01-20", "at=2026-02-10", "limit=9"} {
			if got := column(t, c, "never-mounted", "claim", at, "cluster="+cluster); got != "" {
				t.Errorf("%s: never mounted, by %s, after the pod: %s", cluster, at, got)
			}
		}
	}
}

// TestAPodWaitsForAVolumeOfItsClaim: a volume is Released, and a pod is created for a claim that gets the volume days later. Until then nobody
// waits for the volume. It does not matter whether the mount was written before its volume was known. In the last cluster, the binding is dated
// after the start of the pod, which was before the volume was seen to be bound.
func TestAPodWaitsForAVolumeOfItsClaim(t *testing.T) {
	c := migrated(t)
	ask := func(cluster, question, want string, flags ...string) {
		t.Helper()
		q := strings.Fields(question)
		for _, flag := range flags {
			if got := column(t, c, q[0], q[1], append(q[2:], flag, "cluster="+cluster)...); got != want {
				t.Errorf("%s: %s with %q: %q, want %q", cluster, question, flag, got, want)
			}
		}
	}
	for cluster, seen := range map[string]struct {
		volume string
		bound  fact.Time
	}{"east": {"v", day(1, 15)}, "west": {"", day(1, 15)}, "late": {"v", day(1, 18)}} {
		a, b := claimOf("a", "fast", "v", 100), claimOf("b", "fast", "v", 100)
		a.Owner, a.DeletedAt, a.DeletedNotBefore = "ann", day(1, 10), day(1, 10)
		b.Owner, b.CreatedAt, b.BoundAt = "bob", day(1, 11), seen.bound
		pod, mount := podOf("shop", "db-0", "StatefulSet", "db"), mountOf("db-0", "data", "b", "csi:1", seen.volume, day(1, 16))
		pod.CreatedAt, mount.PodCreatedAt, pod.StartedAt = day(1, 12), day(1, 12), day(1, 16)
		f := &fact.Facts{
			Volumes: []fact.Volume{volumeOf("v", "fast", "csi:1", "claim-b", "Bound", 100)}, Claims: []fact.Claim{a, b},
			Bindings: []fact.Binding{
				{Version: 1, ClaimUID: "claim-a", VolumeUID: "v", BoundAt: day(1, 2), ReleasedAt: day(1, 10), ReleasedNotBefore: day(1, 10)},
				{Version: 1, ClaimUID: "claim-b", VolumeUID: "v", BoundAt: seen.bound},
			},
			Pods: []fact.Pod{pod}, Mounts: []fact.Mount{mount},
			Containers: []fact.Container{{Version: 1, Namespace: "shop", PodCreatedAt: pod.CreatedAt, PodUID: pod.UID, Name: "main", Kind: "main", StartedAt: day(1, 16)}},
		}
		for _, kind := range []fact.Kind{fact.Pods, fact.Claims, fact.Volumes} {
			f.Coverage = append(f.Coverage, fact.Coverage{Version: 1, Instance: "a", Kind: kind, StartedAt: day(1, 12), SeenAt: day(1, 17)})
		}
		write(t, c, cluster, f)
		all := []string{"owner=ann", "namespace=shop"}
		ask(cluster, "idle volume at=2026-01-13", "pv-v", all...)
		ask(cluster, "space idle_bytes at=2026-01-13", fmt.Sprint(100*gib), all...)
		if cluster == "late" {
			ask(cluster, "space idle_bytes at=2026-01-17", "0", "owner=ann")
			continue
		}
		ask(cluster, "idle volume at=2026-01-15T18:00", "", "owner=bob") // the pod waits
		ask(cluster, "space idle_bytes at=2026-01-15T18:00", "0", "owner=bob")
		const idleHours = 3*24 + 12 // to the binding, at noon
		ask(cluster, "space idle_byte_hours since=2026-01-12 until=2026-01-18", fmt.Sprint(idleHours*100*gib), "owner=")
		if days, err := c.RollUp(t.Context(), cluster); err != nil || days != 5 {
			t.Fatalf("summed up %d days, %v", days, err)
		}
		sums := "SELECT toInt64(sum(idle_byte_seconds)) FROM byte_seconds_daily FINAL WHERE cluster = '" + cluster + "'"
		if got := fmt.Sprint(rows(t, c, sums)); got != fmt.Sprintf("[[%d]]", idleHours*3600*100*gib) {
			t.Errorf("%s: the days have idle byte-seconds: %s", cluster, got)
		}
	}
}

// TestMountsOfUnknownClaimsUseTheirVolumes has a volume that is mounted by a claim of which the catalog has no row: it is
// not idle in its namespace, and reports on the volume have the mount.
func TestMountsOfUnknownClaimsUseTheirVolumes(t *testing.T) {
	c := migrated(t)
	write(t, c, "east", &fact.Facts{
		Volumes: []fact.Volume{volumeOf("v", "fast", "csi:1", "claim-data", "Bound", 1)},
		Pods:    []fact.Pod{podOf("shop", "web", "Deployment", "web")}, Mounts: []fact.Mount{mountOf("web", "data", "data", "csi:1", "v", day(1, 3))},
	})
	for _, flag := range []string{"namespace=", "namespace=shop"} {
		if got := column(t, c, "idle", "volume", "at=2026-01-20", flag); got != "" {
			t.Errorf("with %q, idle then: %s", flag, got)
		}
		if got := column(t, c, "space", "idle_byte_hours", "since=2026-01-10", "until=2026-01-20", flag); got != "0" {
			t.Errorf("with %q, %s idle byte-hours", flag, got)
		}
	}
	for _, report := range []string{"users", "apps", "mounts", "use-hours"} {
		if got := column(t, c, report, "namespace", "volume=v"); got != "shop" {
			t.Errorf("%s of the volume is in %q", report, got)
		}
	}
}

// TestSumsOfQuartersLeaveOutNoCluster has a cluster whose first tracker died before it wrote any coverage, beside one that
// is summed up.
func TestSumsOfQuartersLeaveOutNoCluster(t *testing.T) {
	c := migrated(t)
	for _, cluster := range []string{"east", "north"} {
		write(t, c, cluster, &fact.Facts{
			Volumes: []fact.Volume{volumeOf("v", "fast", "csi:1", "claim-data", "Bound", 1)}, Claims: []fact.Claim{claimOf("data", "fast", "v", 1)},
			Pods: []fact.Pod{podOf("shop", "web", "Deployment", "web")}, Mounts: []fact.Mount{mountOf("web", "data", "data", "csi:1", "v", day(1, 3))},
		})
	}
	rows(t, c, `INSERT INTO coverage (cluster, instance, kind, started_at, seen_at, version)
		SELECT 'east', 'a', arrayJoin(['Pod', 'PersistentVolumeClaim', 'PersistentVolume']), '2026-02-18 00:00:00', '2026-02-20 00:00:00', 1`)
	if _, err := c.RollUp(t.Context(), "east"); err != nil {
		t.Fatal(err)
	}
	if n := fmt.Sprint(rows(t, c, "SELECT sum(pods) FROM mounts_quarterly FINAL")); n != "[[1]]" {
		t.Fatalf("the sums have %s pods", n)
	}
	for _, name := range []string{"history", "pods-per-volume"} {
		if got := column(t, c, name, "pods", "since=2026-01-01", "until=2026-02-28"); got != "1,1" {
			t.Errorf("%s has the pods %q, want one of each cluster", name, got)
		}
	}
}

// TestIdleSinceAConditionOfAnUnknownClaim has a volume whose former claim, of another namespace, has no row: only its condition Unused is
// known. A flag selects rows, and changes none.
func TestIdleSinceAConditionOfAnUnknownClaim(t *testing.T) {
	c := migrated(t)
	write(t, c, "east", &fact.Facts{
		Volumes: []fact.Volume{volumeOf("v", "fast", "csi:1", "claim-new", "Bound", 1)}, Claims: []fact.Claim{claimOf("new", "fast", "v", 1)},
		Bindings: []fact.Binding{
			{Version: 1, Namespace: "lab", ClaimName: "former", ClaimUID: "claim-former", VolumeUID: "v", BoundAt: day(1, 2), ReleasedAt: day(1, 30), ReleasedNotBefore: day(1, 30)},
			{Version: 1, ClaimUID: "claim-new", VolumeUID: "v", BoundAt: day(2, 1)},
		},
		Objects: []fact.Object{{
			Kind: fact.Claims, UID: "claim-former", Namespace: "lab", Name: "former", ResourceVersion: "1", ObservedAt: day(1, 10),
			Object: `{"status":{"conditions":[{"type":"Unused","status":"True","lastTransitionTime":"2026-01-09T12:00:00Z"}]}}`,
		}},
		Pods:     []fact.Pod{podOf("shop", "web", "Deployment", "web")},
		Mounts:   []fact.Mount{endedMount(mountOf("web", "data", "new", "csi:1", "v", day(2, 20)), day(2, 21), day(2, 21), "Deleted")},
		Coverage: []fact.Coverage{{Version: 1, Instance: "a", Kind: fact.Pods, StartedAt: day(2, 10), SeenAt: day(3, 1)}},
	})
	for _, flag := range []string{"namespace=", "namespace=shop"} {
		if got := column(t, c, "idle", "idle_since", "at=2026-02-15", flag); got != "2026-01-09T12:00:00Z" {
			t.Errorf("with %q, idle since %s", flag, got)
		}
	}
}

// TestIdleSinceAConditionOfAClaimThatIsGone: once the claim is gone, the state of the volume begins at the last use that was watched. At a
// moment at which the claim existed, its condition Unused counts.
func TestIdleSinceAConditionOfAClaimThatIsGone(t *testing.T) {
	c := migrated(t)
	claim := claimOf("data", "fast", "v", 1)
	claim.DeletedAt, claim.DeletedNotBefore = day(2, 20), day(2, 20)
	v := volumeOf("v", "fast", "csi:1", "claim-data", "Released", 1)
	v.PhaseChangedAt = day(2, 20)
	write(t, c, "east", &fact.Facts{
		Volumes:      []fact.Volume{v},
		Claims:       []fact.Claim{claim},
		Bindings:     []fact.Binding{{Version: 1, ClaimUID: "claim-data", VolumeUID: "v", BoundAt: day(1, 2), ReleasedAt: day(2, 20), ReleasedNotBefore: day(2, 20)}},
		VolumeStates: []fact.VolumeStateRow{{Version: 1, VolumeUID: "v", Name: "pv-v", Status: fact.VolumeReleased, IdleSince: day(1, 20)}},
		Objects: []fact.Object{{
			Kind: fact.Claims, UID: "claim-data", Namespace: "shop", Name: "data", ResourceVersion: "1", ObservedAt: day(2, 10),
			Object: `{"status":{"conditions":[{"type":"Unused","status":"True","lastTransitionTime":"2026-01-20T12:00:02Z"}]}}`,
		}},
		Pods:   []fact.Pod{podOf("shop", "web", "Deployment", "web")},
		Mounts: []fact.Mount{endedMount(mountOf("web", "data", "data", "csi:1", "v", day(1, 3)), day(1, 20), day(1, 20), "Deleted")},
		Coverage: []fact.Coverage{
			{Version: 1, Instance: "a", Kind: fact.Pods, StartedAt: day(2, 10), SeenAt: day(3, 1)}, {Version: 1, Instance: "a", Kind: fact.Claims, StartedAt: day(2, 10), SeenAt: day(3, 1)},
		},
	})
	if got := column(t, c, "idle", "idle_since", "at=2026-02-15"); got != "2026-01-20T12:00:02Z" {
		t.Errorf("idle since %s", got)
	}
}
