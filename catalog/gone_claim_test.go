package catalog_test

import (
	"fmt"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// TestAClaimThatWasGoneBeforeTheFirstTracker: a volume that the first list found released names its claim, of which there is no row.
func TestAClaimThatWasGoneBeforeTheFirstTracker(t *testing.T) {
	c := migrated(t)
	released := volumeOf("old", "fast", "csi:1", "claim-old", "Released", 1)
	released.ReclaimPolicy = "Retain"
	left := volumeOf("left", "fast", "csi:2", "claim-left", "Released", 1)
	left.ReclaimPolicy, left.DeletedAt, left.DeletedNotBefore = "Retain", day(2, 1), day(2, 1)
	asked := volumeOf("asked", "fast", "csi:3", "claim-asked", "Available", 1) // a claim that may come
	asked.ClaimUID = ""
	askedInVain := volumeOf("in-vain", "fast", "csi:4", "claim-asked", "Available", 1)
	askedInVain.ClaimUID, askedInVain.ReclaimPolicy, askedInVain.DeletedAt, askedInVain.DeletedNotBefore = "", "Retain", day(2, 2), day(2, 2)
	f := &fact.Facts{
		Volumes:       []fact.Volume{released, left, asked, askedInVain},
		VolumeSources: []fact.VolumeSource{{Version: 1, ID: "csi:1", Kind: "csi", Path: "a"}, {Version: 1, ID: "csi:2", Kind: "csi", Path: "b"}, {Version: 1, ID: "csi:4", Kind: "csi", Path: "d"}},
		Bindings: []fact.Binding{
			{Version: 1, ClaimUID: "claim-old", VolumeUID: "old", ReleasedAt: day(1, 20), ReleasedNotBefore: day(1, 20)},
		},
		Changes: []fact.Change{
			{At: day(1, 5), Kind: "PersistentVolume", UID: "old", Name: "pv-old", Action: "resized", Details: "1Gi → 2Gi"},
			{At: day(1, 6), Kind: "PersistentVolume", UID: "left", Name: "pv-left", Action: "resized", Details: "1Gi → 2Gi"},
		},
		Usage:    []fact.Usage{{At: day(1, 10), VolumeUID: "old", Namespace: "shop", Space: fact.Space{CapacityBytes: gib, UsedBytes: 1000}}},
		Coverage: []fact.Coverage{{Version: 1, Instance: "a", Kind: fact.Nodes, StartedAt: day(1, 1), SeenAt: day(3, 1)}},
	}
	reachedFrom(f.Volumes, map[string]string{"old": onNode("never")})
	write(t, c, "east", f)
	run := func(report, of string, flags ...string) string { return column(t, c, report, of, flags...) }
	checkCases(t, run, []reportCase{
		{"creation-rate", "volumes", "since=2025-12-31 until=2026-01-02 namespace=shop", "0,2"},
		{"creation-rate", "volumes", "since=2025-12-31 until=2026-01-02 namespace=lab", ""},
		{"creation-rate", "volumes", "since=2025-12-31 until=2026-01-02 namespace=shop owner=dana", ""},
		{"resizes", "name", "since=2026-01-01 namespace=shop", "pv-left,pv-old"},
		{"resizes", "name", "since=2026-01-01 namespace=lab", ""},
		{"lifetimes", "ended", "since=2026-01-01 namespace=shop", "1"},
		{"lifetimes", "ended", "since=2026-01-01 namespace=lab", ""},
		{"orphans", "name", "", "pv-old"},
		{"orphans", "namespace", "", "shop"},
		{"orphans", "claim", "", "old"},
		{"orphans", "name", "namespace=shop", "pv-old"},
		{"orphans", "name", "namespace=lab", ""},
		{"orphans", "name", "namespace=shop owner=dana", ""},
		{"counts", "count", "namespace=shop", "1"},
		{"stranded", "persistentvolume", "namespace=shop", "pv-old"},
		{"stranded", "persistentvolume", "namespace=lab", ""},
		{"rightsize", "claim", "", "old"},
		{"rightsize", "claim", "namespace=shop", "old"},
		{"left-behind", "persistentvolume", "", "pv-left,pv-in-vain"},
		{"left-behind", "claim", "", "left,"},
		{"left-behind", "persistentvolume", "namespace=shop", "pv-left"},
		{"left-behind", "persistentvolume", "namespace=lab", ""},
		{"volume", "object", "volume=shop/old", "PersistentVolumeClaim/shop/old,PersistentVolume/pv-old,PersistentVolume/pv-old"},
		{"volume", "object", "volume=shop/left", "PersistentVolume/pv-left,PersistentVolume/pv-left"},
		{"volume", "object", "volume=shop/asked", ""},
		{"claim", "object", "claim=shop/old", "PersistentVolumeClaim/shop/old,PersistentVolume/pv-old,PersistentVolume/pv-old"},
		{"find", "name", "name=shop/old", "old"},
		{"find", "until", "name=claim-old", "2026-01-20T12:00:00Z"},
		{"find", "name", "name=old namespace=lab", ""},
		{"find", "name", "name=shop/left", "left"},
		{"find", "name", "name=left", "pv-left,left"}, // the volume's UID is "left", too
		{"find", "until", "name=claim-left", "2026-02-01T12:00:00Z"},
		{"find", "name", "name=left namespace=lab", ""},
		{"find", "name", "name=shop/asked", ""},
		{"claim", "object", "claim=shop/left", "PersistentVolume/pv-left,PersistentVolume/pv-left"},
		{"claim", "object", "claim=claim-left", "PersistentVolume/pv-left,PersistentVolume/pv-left"},
		{"claim", "object", "claim=lab/left", ""},
		{"claim", "object", "claim=shop/asked", ""},
		{"bindings", "claim", "since=2026-01-10", "old"},
		{"bindings", "claim", "since=2026-01-10 namespace=shop", "old"},
		{"bindings", "claim", "since=2026-01-10 namespace=lab", ""},
		{"at", "claim", "at=2026-01-10", ",,,old"},
		{"at", "claim", "at=2026-01-10 namespace=shop", ",old"},
		{"at", "persistentvolume", "at=2026-01-10 namespace=shop", "pv-left,pv-old"},
		{"at", "persistentvolume", "at=2026-01-25 namespace=shop", "pv-left,pv-old"},
		{"at", "persistentvolume", "at=2026-01-25 namespace=shop owner=dana", ""},
		{"at", "persistentvolume", "namespace=shop", "pv-old"},
		{"at", "claim", "at=2026-01-10 namespace=lab", ""},
		{"diff", "before", "since=2026-01-10 until=2026-01-25", "shop/old"},
		{"diff", "namespace", "since=2026-01-10 until=2026-01-25 namespace=shop", "shop"},
		{"diff", "before", "since=2026-01-10 until=2026-01-25 namespace=lab", ""},
		{"idle", "claim", "at=2026-01-25 namespace=shop", "left,old"},
		{"idle", "claim", "at=2026-01-25 namespace=lab", ""},
	})
}

// TestABindingOfUnknownBeginning: before Kubernetes 1.28 no volume says when it was bound. It cannot have been before its claim existed.
func TestABindingOfUnknownBeginning(t *testing.T) {
	c := migrated(t)
	v := volumeOf("v", "fast", "csi:1", "claim-data", "Bound", 1)
	claim := claimOf("data", "fast", "v", 1)
	claim.CreatedAt, claim.BoundAt = day(2, 1), 0
	write(t, c, "east", &fact.Facts{
		Volumes: []fact.Volume{v}, Claims: []fact.Claim{claim},
		Bindings: []fact.Binding{{Version: 1, ClaimUID: "claim-data", VolumeUID: "v"}},
		Coverage: []fact.Coverage{{Version: 1, Instance: "a", Kind: fact.Pods, StartedAt: day(1, 1), SeenAt: day(3, 1)}},
	})
	run := func(report, of string, flags ...string) string { return column(t, c, report, of, flags...) }
	checkCases(t, run, []reportCase{
		{"at", "claim", "at=2026-01-15", ""},
		{"at", "persistentvolume", "at=2026-01-15", "pv-v"},
		{"at", "persistentvolume", "at=2026-01-15 namespace=shop", ""},
		{"at", "claim", "at=2026-02-10", "data"},
		{"diff", "difference", "since=2026-01-15 until=2026-02-10", "bound,came"},
		{"diff", "difference", "since=2026-02-05 until=2026-02-10", ""},
		{"idle", "volume", "at=2026-01-15", ""},
		{"idle", "volume", "at=2026-02-10", "pv-v"},
		{"idle", "volume", "at=2026-02-10 namespace=shop", "pv-v"},
		{"space", "bound_volumes", "at=2026-01-15 by=namespace", ""},
		{"space", "bound_volumes", "at=2026-02-10 by=namespace", "1"},
	})
	if got := fmt.Sprint(rows(t, c, "SELECT toString(min(day)), namespace FROM space_daily WHERE bound_volumes > 0 GROUP BY namespace")); got != "[[2026-02-01 shop]]" {
		t.Errorf("space_daily has the volume since %s", got)
	}
}

// TestOrphansLeaveOutAVolumeInUse: a pod goes on with the volume of a claim whose finalizer somebody removed.
func TestOrphansLeaveOutAVolumeInUse(t *testing.T) {
	c := migrated(t)
	v := volumeOf("v", "fast", "csi:1", "claim-data", "Released", 1)
	v.ReclaimPolicy, v.PhaseChangedAt = "Retain", day(1, 20)
	claim := claimOf("data", "fast", "v", 1)
	claim.DeletedAt, claim.DeletedNotBefore = day(1, 20), day(1, 20)
	pods, mount := []fact.Pod{podOf("shop", "db-0", "StatefulSet", "db")}, mountOf("db-0", "data", "data", "csi:1", "v", day(1, 3))
	write(t, c, "east", &fact.Facts{Volumes: []fact.Volume{v}, Claims: []fact.Claim{claim}, Pods: pods, Mounts: []fact.Mount{mount}})
	if got := column(t, c, "orphans", "name"); got != "" {
		t.Errorf("a pod uses %s", got)
	}
	mount = endedMount(mount, day(2, 1), day(2, 1), "Deleted")
	mount.Version = 2
	write(t, c, "east", &fact.Facts{Pods: pods, Mounts: []fact.Mount{mount}})
	if got := column(t, c, "orphans", "name"); got != "pv-v" {
		t.Errorf("after its last use: got %q", got)
	}
}

// TestAClaimThatGotAnotherVolumeWasMounted: a Lost claim may get a new volume, which no pod has used yet.
func TestAClaimThatGotAnotherVolumeWasMounted(t *testing.T) {
	c := migrated(t)
	first := volumeOf("first", "fast", "csi:1", "claim-data", "Bound", 1)
	first.DeletedAt, first.DeletedNotBefore = day(2, 1), day(2, 1)
	write(t, c, "east", &fact.Facts{
		Volumes: []fact.Volume{first, volumeOf("second", "fast", "csi:1", "claim-data", "Bound", 1), volumeOf("other", "fast", "csi:1", "claim-new", "Bound", 1)},
		Claims:  []fact.Claim{claimOf("data", "fast", "second", 1), claimOf("new", "fast", "other", 1)},
		Pods:    []fact.Pod{podOf("shop", "web", "Deployment", "web")},
		Mounts:  []fact.Mount{endedMount(mountOf("web", "data", "data", "csi:1", "first", day(1, 3)), day(1, 10), day(1, 10), "Deleted")},
		Bindings: []fact.Binding{
			{Version: 1, ClaimUID: "claim-data", VolumeUID: "first", BoundAt: day(1, 2), ReleasedAt: day(2, 1), ReleasedNotBefore: day(2, 1)},
			{Version: 1, ClaimUID: "claim-data", VolumeUID: "second", BoundAt: day(2, 2)},
			{Version: 1, ClaimUID: "claim-new", VolumeUID: "other", BoundAt: day(2, 2)},
		},
	})
	if got := column(t, c, "never-mounted", "claim"); got != "new" {
		t.Errorf("never mounted: got %q", got)
	}
	if got := column(t, c, "orphans", "reason"); got != "never mounted,not mounted" {
		t.Errorf("orphans: got %q", got)
	}
	mounted := mountOf("web", "data", "data", "csi:1", "first", day(1, 3))
	mounted.Version = 2
	write(t, c, "east", &fact.Facts{Pods: []fact.Pod{podOf("shop", "web", "Deployment", "web")}, Mounts: []fact.Mount{mounted}})
	if got := column(t, c, "orphans", "claim"); got != "new" {
		t.Errorf("orphans, while a pod goes on with the volume that was deleted: got %q", got)
	}
	mounted = endedMount(mounted, day(2, 5), day(2, 5), "Deleted")
	mounted.Version = 3
	write(t, c, "east", &fact.Facts{Pods: []fact.Pod{podOf("shop", "web", "Deployment", "web")}, Mounts: []fact.Mount{mounted}})
	if got := column(t, c, "orphans", "reason", "min-age=1d"); got != "never mounted,not mounted" {
		t.Errorf("orphans, after that pod: got %q", got)
	}
	rows(t, c, "TRUNCATE TABLE mounts") // they expire before volume_uses
	if got := column(t, c, "never-mounted", "claim"); got != "new" {
		t.Errorf("never mounted, without the mounts: got %q", got)
	}
}

// TestClaimsThatNobodyHadMountedThen has a claim that got another volume after it was Lost, one that got it before a tracker saw that it was Lost,
// one whose use has expired, and one whose volume was created after it. It is not known since when the last two were bound.
func TestClaimsThatNobodyHadMountedThen(t *testing.T) {
	c := migrated(t)
	first, late := volumeOf("first", "fast", "csi:1", "claim-lost", "Bound", 1), volumeOf("late", "fast", "csi:2", "claim-early", "Bound", 1)
	first.DeletedAt, first.DeletedNotBefore, late.CreatedAt = day(1, 10), day(1, 10), day(2, 1)
	removed := volumeOf("removed", "fast", "csi:5", "claim-unseen", "Bound", 1)
	removed.DeletedAt, removed.DeletedNotBefore = day(1, 10), day(1, 10)
	claims := []fact.Claim{
		claimOf("early", "fast", "late", 1), claimOf("lost", "fast", "second", 1), claimOf("used", "fast", "used", 1), claimOf("unseen", "fast", "again", 1),
	}
	claims[0].BoundAt, claims[1].BoundAt, claims[2].BoundAt, claims[3].BoundAt = 0, day(1, 20), 0, day(1, 11)
	for i := range claims {
		claims[i].Owner = "ann"
	}
	write(t, c, "east", &fact.Facts{
		Volumes: []fact.Volume{
			first, late, removed, volumeOf("second", "fast", "csi:3", "claim-lost", "Bound", 1), volumeOf("used", "fast", "csi:4", "claim-used", "Bound", 1),
			volumeOf("again", "fast", "csi:6", "claim-unseen", "Bound", 1),
		},
		Claims: claims,
		Bindings: []fact.Binding{
			{Version: 1, ClaimUID: "claim-early", VolumeUID: "late"}, {Version: 1, ClaimUID: "claim-used", VolumeUID: "used"},
			{Version: 1, ClaimUID: "claim-lost", VolumeUID: "first", BoundAt: day(1, 2), ReleasedAt: day(1, 10), ReleasedNotBefore: day(1, 10)},
			{Version: 1, ClaimUID: "claim-lost", VolumeUID: "second", BoundAt: day(1, 20)},
			{Version: 1, ClaimUID: "claim-unseen", VolumeUID: "removed", BoundAt: day(1, 2), ReleasedAt: day(1, 10), ReleasedNotBefore: day(1, 10)},
			{Version: 1, ClaimUID: "claim-unseen", VolumeUID: "again", BoundAt: day(1, 11)},
		},
		Changes: []fact.Change{
			{At: day(1, 10), Kind: "PersistentVolumeClaim", UID: "claim-lost", Namespace: "shop", Name: "lost", Action: fact.Phase, Details: "Bound → Lost"},
			{At: day(1, 20), Kind: "PersistentVolumeClaim", UID: "claim-lost", Namespace: "shop", Name: "lost", Action: fact.Phase, Details: "Lost → Bound"},
			{At: day(1, 12), Kind: "PersistentVolumeClaim", UID: "claim-unseen", Namespace: "shop", Name: "unseen", Action: fact.Phase, Details: "Bound → Lost"},
			{At: day(1, 12), Kind: "PersistentVolumeClaim", UID: "claim-unseen", Namespace: "shop", Name: "unseen", Action: fact.Phase, Details: "Lost → Bound"},
		},
		Pods:   []fact.Pod{podOf("shop", "web", "Deployment", "web")},
		Mounts: []fact.Mount{endedMount(mountOf("web", "data", "used", "csi:4", "used", day(1, 3)), day(1, 5), day(1, 5), "Deleted")},
	})
	rows(t, c, "TRUNCATE TABLE mounts") // they expire before volume_uses
	run := func(report, of string, flags ...string) string { return column(t, c, report, of, flags...) }
	for _, owner := range []string{"", " owner=ann"} {
		checkCases(t, run, []reportCase{
			{"never-mounted", "claim", "at=2026-01-06" + owner, "early,lost,unseen"},
			{"never-mounted", "phase", "at=2026-01-06" + owner, "Pending,Bound,Bound"},
			{"never-mounted", "persistentvolume", "at=2026-01-06" + owner, ",pv-first,pv-removed"},
			{"never-mounted", "phase", "at=2026-01-15" + owner, "Pending,Lost,Bound"},
			{"never-mounted", "persistentvolume", "at=2026-01-15" + owner, ",pv-first,pv-again"},
			{"never-mounted", "phase", "at=2026-01-25" + owner, "Pending,Bound,Bound"},
			{"never-mounted", "persistentvolume", "at=2026-01-25" + owner, ",pv-second,pv-again"},
			{"never-mounted", "phase", "at=2026-02-10" + owner, "Bound,Bound,Bound"},
			{"never-mounted", "persistentvolume", "at=2026-02-10" + owner, "pv-late,pv-second,pv-again"},
		})
	}
}

// TestASizeDiffersOnlyOfWhatExistedAtBothMoments: a claim that came and went in between makes no difference, whatever its size was.
func TestASizeDiffersOnlyOfWhatExistedAtBothMoments(t *testing.T) {
	c := migrated(t)
	brief, stays := claimOf("brief", "fast", "", 2), claimOf("stays", "fast", "", 2)
	brief.CreatedAt, brief.DeletedAt, brief.DeletedNotBefore = day(1, 11), day(1, 13), day(1, 13)
	resized := func(name string) fact.Change {
		return fact.Change{At: day(1, 12), Kind: "PersistentVolumeClaim", UID: "claim-" + name, Namespace: "shop", Name: name, Action: "resized",
			Details: "1Gi → 2Gi", ResourceVersion: name}
	}
	write(t, c, "east", &fact.Facts{Claims: []fact.Claim{brief, stays}, Changes: []fact.Change{resized("brief"), resized("stays")}})
	if got := column(t, c, "diff", "name", "since=2026-01-10", "until=2026-01-20"); got != "stays" {
		t.Errorf("got %q", got)
	}
	if got := column(t, c, "diff", "difference", "since=2026-01-10", "until=2026-01-12T18:00:00Z"); got != "came,resized" {
		t.Errorf("of a claim that came: got %q", got)
	}
}

// TestTheSpaceOfAFormerClaimThatNobodySaw: the volume is bound to a claim of another namespace since.
func TestTheSpaceOfAFormerClaimThatNobodySaw(t *testing.T) {
	c := migrated(t)
	write(t, c, "east", &fact.Facts{
		Volumes: []fact.Volume{volumeOf("v", "fast", "csi:1", "claim-new", "Bound", 1)}, Claims: []fact.Claim{claimOf("new", "fast", "v", 1)},
		Bindings: []fact.Binding{
			{Version: 1, Namespace: "lab", ClaimName: "former", ClaimUID: "claim-former", VolumeUID: "v", BoundAt: day(1, 2), ReleasedAt: day(1, 20), ReleasedNotBefore: day(1, 20)},
			{Version: 1, ClaimUID: "claim-new", VolumeUID: "v", BoundAt: day(2, 1)},
		},
	})
	run := func(report, of string, flags ...string) string { return column(t, c, report, of, flags...) }
	checkCases(t, run, []reportCase{
		{"space", "namespace", "at=2026-01-10", "lab,shop"}, // shop has the claim
		{"space", "bound_volumes", "at=2026-01-10", "1,0"},
		{"space", "bound_volumes", "at=2026-01-10 namespace=lab", "1"},
		{"space", "released_volumes", "at=2026-01-25 namespace=lab", "1"},
		{"space", "bound_volumes", "at=2026-01-10 namespace=shop", "0"},
		{"space", "bound_volumes", "at=2026-02-10 namespace=lab", ""},
		{"space", "bound_volumes", "at=2026-02-10 namespace=shop", "1"},
		{"idle", "namespace", "at=2026-01-25", "lab"},
		{"at", "namespace", "at=2026-01-10", "lab"},
	})
}

// TestOrphansByVolumesThatWereLost: v1 was another claim's before, v2 was one's of another workload. Pods go on with volumes that are deleted.
func TestOrphansByVolumesThatWereLost(t *testing.T) {
	c := migrated(t)
	gone := func(uid string) fact.Volume {
		v := volumeOf(uid, "fast", "csi:1", "claim-data", "Bound", 1)
		v.DeletedAt, v.DeletedNotBefore = day(2, 1), day(2, 1)
		return v
	}
	data, lost := claimOf("data", "fast", "v2", 1), claimOf("lost", "fast", "v3", 1)
	data.BoundAt, lost.Phase = day(2, 2), "Lost"
	v3 := gone("v3")
	v3.ClaimUID, v3.ClaimName = "claim-lost", "lost"
	facts := &fact.Facts{
		Volumes: []fact.Volume{gone("v1"), volumeOf("v2", "fast", "csi:1", "claim-data", "Bound", 1), v3},
		Claims:  []fact.Claim{data, lost},
		Pods:    []fact.Pod{podOf("shop", "web", "Deployment", "web"), podOf("shop", "job", "Deployment", "job")},
		Bindings: []fact.Binding{
			{Version: 1, ClaimUID: "claim-before", VolumeUID: "v1", BoundAt: day(1, 1), ReleasedAt: day(1, 2), ReleasedNotBefore: day(1, 2)},
			{Version: 1, ClaimUID: "claim-data", VolumeUID: "v1", BoundAt: day(1, 2), ReleasedAt: day(2, 1), ReleasedNotBefore: day(2, 1)},
			{Version: 1, ClaimUID: "claim-tmp", VolumeUID: "v2", BoundAt: day(1, 2), ReleasedAt: day(2, 1), ReleasedNotBefore: day(2, 1)},
			{Version: 1, ClaimUID: "claim-data", VolumeUID: "v2", BoundAt: day(2, 2)},
			{Version: 1, ClaimUID: "claim-lost", VolumeUID: "v3", BoundAt: day(1, 2), ReleasedAt: day(2, 1), ReleasedNotBefore: day(2, 1)},
		},
		Mounts: []fact.Mount{
			mountOf("web", "data", "data", "csi:1", "v1", day(1, 3)),
			endedMount(mountOf("job", "tmp", "tmp", "csi:1", "v2", day(1, 3)), day(1, 4), day(1, 4), "Deleted"),
			mountOf("web", "lost", "lost", "csi:1", "v3", day(1, 3)),
		},
	}
	write(t, c, "east", facts)
	run := func(report, of string, flags ...string) string { return column(t, c, report, of, flags...) }
	checkCases(t, run, []reportCase{
		{"orphans", "claim", "min-age=1d", "lost"},
		{"orphans", "reason", "min-age=1d", "Lost"},
		{"never-mounted", "claim", "", ""},
	})
	facts.Mounts[0] = endedMount(facts.Mounts[0], day(2, 5), day(2, 5), "Deleted")
	facts.Mounts[0].Version = 2
	write(t, c, "east", &fact.Facts{Pods: facts.Pods, Mounts: facts.Mounts[:1]})
	rows(t, c, "TRUNCATE TABLE mounts") // what is known without them
	checkCases(t, run, []reportCase{
		{"orphans", "claim", "min-age=1d", "data,lost"},
		{"orphans", "reason", "min-age=1d", "not mounted,Lost"}, // not "scaled down": the Deployment job never had it
		{"never-mounted", "claim", "", ""},
	})
}

// TestIdleOfAVolumeWhoseClaimRefWasChanged: a volume without a binding was Released, and is reserved for another claim since.
func TestIdleOfAVolumeWhoseClaimRefWasChanged(t *testing.T) {
	c := migrated(t)
	released := volumeOf("v", "fast", "csi:1", "claim-data", "Released", 1)
	released.PhaseChangedAt = day(1, 5)
	cleared := released
	cleared.Version, cleared.ClaimUID, cleared.ClaimNamespace, cleared.ClaimName = 2, "", "", ""
	reserved := cleared
	reserved.Version, reserved.ClaimNamespace, reserved.ClaimName = 3, "lab", "next"
	for _, v := range []fact.Volume{released, cleared, reserved} {
		write(t, c, "east", &fact.Facts{Volumes: []fact.Volume{v}})
	}
	if got := column(t, c, "idle", "volume", "at=2026-01-10"); got != "pv-v" {
		t.Errorf("got %q", got)
	}
}
