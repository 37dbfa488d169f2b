package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// hostile is a name that a report has to return as it is.
const hostile = "it's \"a\"\tb\nc\\ 日本"

// reportCase is a column of a report, with commas between the rows.
type reportCase struct{ report, column, flags, want string }

func checkCases(t *testing.T, run func(report, column string, flags ...string) string, cases []reportCase) {
	t.Helper()
	for _, test := range cases {
		if got := run(test.report, test.column, strings.Fields(test.flags)...); got != test.want {
			t.Errorf("%s %s, %s:\n got %s\nwant %s", test.report, test.flags, test.column, got, test.want)
		}
	}
}

// measured is a row of usage: so many of 100 GiB, and of 1000 files.
func measured(volume string, at fact.Time, used, inodes int64) fact.Usage {
	return fact.Usage{At: at, Namespace: "shop", VolumeUID: volume, Space: fact.Space{
		CapacityBytes: 100 * gib, UsedBytes: used * gib, AvailableBytes: (100 - used) * gib, Inodes: 1000, InodesUsed: inodes,
	}}
}

// measuredVolumes is a cluster whose volumes were measured: one grew by 2 GiB each day until it stopped, one got files, one shrank, one
// is not mounted, one is gone, and one was never measured.
func measuredVolumes() *fact.Facts {
	f := &fact.Facts{Pods: []fact.Pod{podOf("shop", hostile, "Deployment", hostile)}}
	for _, name := range []string{"grew", "files", "shrank", "unmounted", "gone", "unmeasured"} {
		f.Volumes = append(f.Volumes, volumeOf(name, "fast", "csi:1", "claim-"+name, "Bound", 100))
		f.Claims = append(f.Claims, claimOf(name, "fast", name, 90))
		m := mountOf(hostile, name, name, "csi:1", name, day(1, 3))
		if name == "unmounted" || name == "gone" {
			m = endedMount(m, day(1, 20), day(1, 20), "Completed")
		}
		f.Mounts = append(f.Mounts, m)
	}
	f.Volumes[0].Name = hostile
	f.Pods = append(f.Pods, podOf("shop", "web-1", "Deployment", "web"))
	f.Mounts = append(f.Mounts, mountOf("web-1", "files", "files", "csi:1", "files", day(2, 1)))
	f.Volumes[4].DeletedAt, f.Volumes[4].DeletedNotBefore = day(2, 25), day(2, 25)
	for d := range 11 { // February 15th to 25th: 20 to 40 GiB
		f.Usage = append(f.Usage, measured("grew", day(2, 15+d), int64(20+2*d), 10), measured("gone", day(2, 15+d), int64(20+2*d), 10))
	}
	f.Usage = append(f.Usage,
		measured("files", day(2, 1), 50, 10), measured("files", day(2, 22), 50, 900),
		measured("shrank", day(2, 1), 80, 10), measured("shrank", day(2, 20), 10, 10),
		measured("unmounted", day(1, 10), 1, 10))
	// Only the size of the file system has changed since.
	resized := measured("shrank", day(2, 27), 10, 10)
	resized.CapacityBytes *= 2
	f.Usage = append(f.Usage, resized)
	return f
}

func TestReportsOnMeasuredVolumes(t *testing.T) {
	c := migrated(t)
	write(t, c, "east", measuredVolumes())
	west := measuredVolumes()
	west.Usage = []fact.Usage{measured("grew", day(1, 10), 30, 10)}
	write(t, c, "west", west)
	run := func(report, of string, flags ...string) string { return column(t, c, report, of, flags...) }
	checkCases(t, run, []reportCase{
		{"static", "persistentvolume", "cluster=east min-unchanged=8d", "pv-shrank"},
		{"static", "persistentvolume", "cluster=east min-unchanged=7d", "pv-shrank,pv-files"}, // exactly 7 days
		{"static", "unchanged_since", "cluster=east min-unchanged=1d", "2026-02-20T12:00:00Z,2026-02-22T12:00:00Z,2026-02-25T12:00:00Z"},
		{"static", "persistentvolume", "cluster=west", hostile},
		{"static", "workloads", "cluster=west", `["Deployment/it's \"a\"\tb\nc\\ 日本"]`},
		{"static", "cluster", "min-unchanged=365d", ""},
		{"static", "cluster", "owner=nobody", ""},
		{"static", "persistentvolume", "cluster=east at=2026-02-15 min-unchanged=7d", "pv-files,pv-shrank"},
		{"static", "unchanged_seconds", "cluster=east at=2026-02-15T12:00 min-unchanged=7d", "1209600,1209600"},
		{"static", "persistentvolume", "cluster=east at=2026-01-19 min-unchanged=0s", "pv-unmounted"},
		{"static", "cluster", "at=2026-01-02", ""},
		{"filling", "persistentvolume", "cluster=east within=60d", "pv-files," + hostile},
		{"filling", "runs_out", "cluster=east within=60d", "inodes,bytes"},
		{"filling", "persistentvolume", "cluster=east within=5d", "pv-files"},
		{"filling", "claim", "cluster=west", ""}, // a level line
		{"filling", "claim", "namespace=lab", ""},
		{"filling", "claim", "cluster=east namespace=shop storageclass=fast within=60d", "files,grew"},
		{"filling", "claim", "cluster=east storageclass=slow within=60d", ""},
		{"filling", "claim", "cluster=east within=60d workload=Deployment/none", ""},
		{"filling", "claim", "cluster=east within=60d workload=Deployment/web", "files"},
		// 890 more files in the middle of 14 days: 1.5 × 890 / 14 each day.
		{"filling", "growth_per_day_inodes", "cluster=east within=5d", "95.4"},
		{"filling", "fitted_seconds", "cluster=east within=60d", "1209600,1209600"},
		{"filling", "growth_per_day_bytes", "cluster=east since=2026-02-15T12:00 until=2026-02-25T12:00 within=300d", ",2126008812"}, // 1.98 GiB: a staircase of ten steps
		{"filling", "claim", "cluster=east until=2026-02-14 since=2026-02-01", ""},
		{"rightsize", "claim", "cluster=east", "unmounted,grew,files,shrank"},
		{"rightsize", "advised_bytes", "cluster=east", "2147483648,51539607552,64424509440,103079215104"},
		{"rightsize", "spare_bytes", "cluster=east headroom=100 since=2026-01-11", "105226698752,21474836480,0,-64424509440"},
		{"rightsize", "max_used_bytes", "cluster=east since=2026-02-21", "1073741824,10737418240,42949672960,53687091200"},
		{"rightsize", "max_used_at", "cluster=west", "2026-01-10T12:00:00Z"},
		{"rightsize", "used_percent", "cluster=east headroom=0", "1,40,50,80"},
		{"rightsize", "advised_bytes", "cluster=west headroom=0", "32212254720"},
		{"rightsize", "requested_bytes", "cluster=west", "96636764160"},
		{"rightsize", "claim", "until=2026-01-09", ""},
		{"rightsize", "claim", "cluster=east workload=web", "files"},
		{"rightsize", "claim", "cluster=east workload=web until=2026-01-09", ""},
		{"rightsize", "claim", "cluster=east owner=nobody", ""},
	})
	if _, err := c.RunReport(t.Context(), "rightsize", map[string]string{"headroom": "-5"}, 0); err == nil || !strings.Contains(err.Error(), `--headroom: "-5" is not a whole number`) {
		t.Errorf("got %v", err)
	}
}

func orphanVolumes() *fact.Facts {
	f := &fact.Facts{
		Volumes: []fact.Volume{
			volumeOf("kept", "fast", "csi:1", "claim-kept", "Released", 1), volumeOf("deleting", "fast", "csi:1", "claim-kept", "Released", 1),
			volumeOf("free", "", "csi:1", "", "Available", 2), volumeOf("new", "", "csi:1", "", "Available", 2), volumeOf("again", "", "csi:1", "", "Available", 2),
			volumeOf("failed", "", "csi:1", "", "Failed", 3), volumeOf("left", "", "csi:1", "claim-kept", "Bound", 4), volumeOf("used", "", "csi:1", "claim-used", "Bound", 5),
			volumeOf("v-data-db-0", "", "csi:1", "claim-data-db-0", "Bound", 6),
		},
		Claims: []fact.Claim{
			claimOf("kept", "fast", "kept", 1), claimOf("lost", "", "", 1), claimOf("used", "", "used", 5),
			claimOf("data-db-0", "", "v-data-db-0", 6), claimOf("data-db-1", "", "v-data-db-1", 6), claimOf("data-db-2", "", "v-data-db-2", 6),
			claimOf("young", "", "", 1), claimOf("monthly", "", "v-monthly", 7), claimOf(hostile, "", "v-hostile", 8), claimOf("ephemeral", "", "", 8),
		},
		Bindings: []fact.Binding{
			{Version: 1, ClaimUID: "claim-kept", VolumeUID: "free", BoundAt: day(1, 2), ReleasedAt: day(1, 10), ReleasedNotBefore: day(1, 10)},
			{Version: 1, ClaimUID: "claim-kept", VolumeUID: "again", BoundAt: day(1, 2), ReleasedAt: day(1, 10), ReleasedNotBefore: day(1, 10)},
		},
		Pods: []fact.Pod{
			podOf("shop", "db-0", "StatefulSet", "db"), podOf("shop", "db-1", "StatefulSet", "db"), podOf("shop", "db-2", "StatefulSet", "db"),
			podOf("shop", "cron", "CronJob", "monthly"), podOf("shop", "web", "Deployment", "web"),
		},
		Mounts: []fact.Mount{
			mountOf("db-0", "data", "data-db-0", "csi:1", "v-data-db-0", day(1, 3)),
			endedMount(mountOf("db-1", "data", "data-db-1", "csi:1", "v-data-db-1", day(1, 3)), day(1, 20), day(1, 20), "Deleted"),
			endedMount(mountOf("db-2", "data", "data-db-2", "csi:1", "v-data-db-2", day(1, 3)), day(1, 20), day(1, 20), "Deleted"),
			endedMount(mountOf("cron", "data", "monthly", "csi:1", "v-monthly", day(1, 3)), day(1, 20), day(1, 20), "Completed"),
			endedMount(mountOf("web", "data", hostile, "csi:1", "v-hostile", day(1, 3)), day(1, 19), day(1, 20), "Deleted"),
			mountOf("db-0", "used", "used", "csi:1", "used", day(1, 3)),
			endedMount(mountOf("web", "kept", "kept", "csi:1", "kept", day(1, 3)), day(1, 4), day(1, 4), "Deleted"),
		},
		Changes: []fact.Change{{At: day(2, 2), Kind: "PersistentVolumeClaim", UID: "claim-lost", Namespace: "shop", Name: "lost", Action: fact.Phase, Details: "Bound → Lost"}},
	}
	for i, policy := range []string{"Retain", "Delete", "Retain", "Retain", "Retain", "Delete", "Delete", "Delete"} {
		f.Volumes[i].ReclaimPolicy, f.Volumes[i].PhaseChangedAt = policy, day(1, 15)
	}
	f.Volumes[4].PhaseChangedAt = day(2, 27) // free for two days only
	f.Claims[0].DeletedAt, f.Claims[0].DeletedNotBefore = day(1, 15), day(1, 15)
	f.Claims[1].Phase = "Lost"
	f.Claims[6].CreatedAt = day(2, 25)
	f.Claims[9].Ephemeral = true
	f.Pods[1].DeletedAt = day(1, 20)
	f.Pods[2].Phase, f.Pods[2].StartedAt = "Pending", 0 // a new pod waits
	f.Pods[4].DeletedAt = day(1, 20)
	return f
}

func TestOrphans(t *testing.T) {
	c := migrated(t)
	write(t, c, "east", orphanVolumes())
	west := orphanVolumes()
	west.Volumes, west.Bindings, west.Mounts, west.Pods, west.Changes = nil, nil, nil, nil, nil
	west.Claims = west.Claims[2:3]
	write(t, c, "west", west)
	run := func(report, of string, flags ...string) string { return column(t, c, report, of, flags...) }
	checkCases(t, run, []reportCase{
		{"orphans", "name", "cluster=east", "pv-failed,pv-free,pv-kept,pv-left,data-db-1," + hostile + ",lost"},
		{"orphans", "reason", "cluster=east", "Failed,Available, was bound,Released, Retain,claim gone,scaled down,no pods,Lost"},
		{"orphans", "last_workload", "cluster=east", ",,Deployment/web,,StatefulSet/db,Deployment/web,"},
		{"orphans", "name", "cluster=west", "used"},
		{"orphans", "reason", "cluster=west", "never mounted"},
		{"orphans", "name", "cluster=east min-age=1d storageclass=fast", "pv-free,pv-kept,pv-left,pv-again"}, // the class of the claim
		{"orphans", "name", "cluster=east min-age=1d namespace=shop limit=2", "pv-free,pv-kept"},
		{"orphans", "orphaned_since", "cluster=east namespace=shop storageclass=fast", "2026-01-15T12:00:00Z,2026-01-15T12:00:00Z,2026-01-15T12:00:00Z"},
		{"orphans", "name", "namespace=lab", ""},
		{"orphans", "name", "owner=nobody", ""},
	})
}

// TestOrphansThatLostTheirVolumeForAWhile: the claim used its volume before it got it again.
func TestOrphansThatLostTheirVolumeForAWhile(t *testing.T) {
	c := migrated(t)
	f := &fact.Facts{
		Volumes: []fact.Volume{volumeOf("v", "fast", "csi:1", "claim-data", "Bound", 1)},
		Claims:  []fact.Claim{claimOf("data", "fast", "v", 1)},
		Pods:    []fact.Pod{podOf("shop", "web", "Deployment", "web")},
		Mounts:  []fact.Mount{endedMount(mountOf("web", "data", "data", "csi:1", "v", day(1, 3)), day(1, 10), day(1, 10), "Deleted")},
		Bindings: []fact.Binding{
			{Version: 1, ClaimUID: "claim-data", VolumeUID: "v", BoundAt: day(1, 2), ReleasedAt: day(1, 20), ReleasedNotBefore: day(1, 20)},
			{Version: 1, ClaimUID: "claim-data", VolumeUID: "v", Ordinal: 1, BoundAt: day(1, 21)},
		},
	}
	f.Claims[0].BoundAt, f.Pods[0].DeletedAt = day(1, 21), day(1, 10)
	write(t, c, "east", f)
	run := func(report, of string, flags ...string) string { return column(t, c, report, of, flags...) }
	checkCases(t, run, []reportCase{
		{"orphans", "reason", "", "no pods"},
		{"orphans", "orphaned_since", "", "2026-01-10T12:00:00Z"},
	})
}

// TestABindingFromAnUnknownMomentCounts: Kubernetes before 1.28 does not say when a volume that is found bound was bound.
func TestABindingFromAnUnknownMomentCounts(t *testing.T) {
	c := migrated(t)
	f := &fact.Facts{
		Volumes: []fact.Volume{volumeOf("v", "fast", "csi:1", "claim-data", "Bound", 1), volumeOf("free", "fast", "csi:1", "", "Available", 1)},
		Claims:  []fact.Claim{claimOf("old", "fast", "v", 1), claimOf("data", "fast", "v", 1)},
		Bindings: []fact.Binding{
			{Version: 1, ClaimUID: "claim-old", VolumeUID: "v", ReleasedAt: day(1, 20), ReleasedNotBefore: day(1, 20)},
			{Version: 1, ClaimUID: "claim-data", VolumeUID: "v", BoundAt: day(1, 15)},
		},
	}
	write(t, c, "east", f)
	run := func(report, of string, flags ...string) string { return column(t, c, report, of, flags...) }
	checkCases(t, run, []reportCase{
		{"at", "claim", "at=2026-01-10", ",old"},
		{"at", "claim", "at=2026-01-16", ",data"}, // the later one of two
		{"at", "claim", "", ",data"},
	})
	// A volume without a claim has an empty one, as in other reports, and not null.
	if got := report(t, c, "at", catalog.JSONFormat, "limit=1"); !strings.Contains(got, `"claim": ""`) && !strings.Contains(got, `"claim":""`) {
		t.Errorf("got %s", got)
	}
}

// TestStorageAtAMoment asks for sizes and phases that the volumes' rows no longer have.
func TestStorageAtAMoment(t *testing.T) {
	c := migrated(t)
	write(t, c, "east", team())
	west := measuredVolumes() // nothing is known of its past
	write(t, c, "west", west)
	run := func(report, of string, flags ...string) string { return column(t, c, report, of, flags...) }
	checkCases(t, run, []reportCase{
		{"at", "persistentvolume", "cluster=east", "pv-data,pv-logs,pv-spare"},
		{"at", "capacity_bytes", "cluster=east", "21474836480,107374182400,5368709120"},
		{"at", "phase", "cluster=east", "Bound,Released,Bound"},
		{"at", "capacity_bytes", "cluster=east at=2026-01-12", "10737418240,107374182400,5368709120"},
		{"at", "phase", "cluster=east at=2026-01-12", "Bound,Bound,Bound"},
		{"at", "capacity_bytes", "cluster=east at=2026-01-09", ",,"},       // nobody watched yet
		{"at", "phase", "cluster=east at=2026-01-09", "Bound,Bound,Bound"}, // the API dates it
		{"at", "capacity_bytes", "cluster=east at=2026-02-07", "21474836480,107374182400,5368709120"},
		{"at", "phase", "cluster=east at=2026-02-07", "Bound,,Bound"}, // it was released in the gap
		{"at", "phase", "cluster=east at=2026-02-09", "Bound,Released,Bound"},
		{"at", "claim", "cluster=east at=2026-02-07", "data,logs,spare"},
		{"at", "claim", "cluster=east at=2026-02-11", "data,,spare"},
		{"at", "persistentvolume", "cluster=east at=2026-02-11 namespace=shop", "pv-data,pv-logs,pv-spare"}, // released from shop/logs
		{"at", "persistentvolume", "cluster=east namespace=shop", "pv-data,pv-logs,pv-spare"},
		{"at", "persistentvolume", "cluster=east namespace=shop workload=api", "pv-data"},
		{"at", "persistentvolume", "cluster=east at=2026-02-11 owner=carol workload=api", "pv-data"},
		{"at", "persistentvolume", "cluster=east at=2026-02-11 owner=ann", ""},
		{"at", "persistentvolume", "cluster=east at=2026-01-02", "pv-data,pv-logs,pv-spare"},
		{"at", "persistentvolume", "cluster=east at=2026-01-02 namespace=shop", ""}, // no claim had them yet
		{"at", "workloads", "cluster=east at=2026-02-07", `["Deployment/api","Pod/shell-1"],[],[]`},
		{"at", "pods", "cluster=east at=2026-02-07", "2,0,0"},
		{"at", "backend", "cluster=east storageclass=fast", "ebs.csi.aws.com vol-1,ebs.csi.aws.com vol-2"},
		{"at", "persistentvolume", "cluster=east at=2025-12-31", ""},
		{"at", "persistentvolume", "namespace=lab", ""},
		{"at", "persistentvolume", "cluster=west limit=1", hostile},
		{"at", "capacity_bytes", "cluster=west at=2026-02-20", ",,,,,"}, // the one that is gone existed
		{"at", "phase", "cluster=west at=2026-02-26", ",,,,"},
	})
}

// TestAVolumeThatIsFullWithinHours: days are rounded only where they are shown.
func TestAVolumeThatIsFullWithinHours(t *testing.T) {
	c := migrated(t)
	write(t, c, "east", &fact.Facts{
		Volumes: []fact.Volume{volumeOf("v", "fast", "csi:1", "claim-v", "Bound", 100)},
		Usage:   []fact.Usage{measured("v", day(2, 20), 10, 10), measured("v", day(2, 28), 97, 10)},
	})
	run := func(report, of string, flags ...string) string { return column(t, c, report, of, flags...) }
	checkCases(t, run, []reportCase{
		{"filling", "days_left", "within=12h", ""},
		{"filling", "days_left", "within=13h", "0.5"},
		{"filling", "full_at", "within=13h", "2026-03-02T00:34:07Z"},
	})
}

func TestDifferencesBetweenTwoMoments(t *testing.T) {
	c := migrated(t)
	write(t, c, "east", team())
	write(t, c, "west", measuredVolumes())
	run := func(report, of string, flags ...string) string { return column(t, c, report, of, flags...) }
	checkCases(t, run, []reportCase{
		{"diff", "difference", "cluster=east", ""}, // the past day
		{"diff", "difference", "cluster=east since=2026-01-15T06:00 until=2026-01-17", "resized,resize_requested"},
		{"diff", "before", "cluster=east since=2026-01-15T06:00 until=2026-01-17", "10Gi,10Gi"},
		{"diff", "name", "cluster=east since=2026-02-01 until=2026-02-11", "pv-logs,logs"},
		{"diff", "difference", "cluster=east since=2026-02-01 until=2026-02-11", "released,went"},
		{"diff", "before", "cluster=east since=2026-02-01 until=2026-02-11", "shop/logs,"},
		{"diff", "difference", "cluster=east since=2026-02-19 until=2026-02-28", "mounts"}, // a claim came and went in between
		{"diff", "after", "cluster=east since=2026-02-19 until=2026-02-28", "2"},
		{"diff", "difference", "cluster=east since=2026-02-19 until=2026-02-22", "came,mounts"},
		{"diff", "name", "cluster=west since=2026-02-20", "pv-gone"},
		{"diff", "name", "cluster=west since=2026-01-15 namespace=shop", "pv-gone," + hostile + ",web"},
		{"diff", "difference", "since=60d namespace=lab", ""},
		{"diff", "difference", "since=60d owner=nobody", ""},
		{"diff", "cluster", "since=60d limit=1", "east"},
	})
}

// TestOrphansWithoutTheStates reads a catalog in which volume_states lacks what volume_uses has: a new tracker writes it last.
func TestOrphansWithoutTheStates(t *testing.T) {
	c := migrated(t)
	write(t, c, "east", &fact.Facts{
		Volumes: []fact.Volume{volumeOf("v", "fast", "csi:1", "claim-data", "Bound", 1)}, Claims: []fact.Claim{claimOf("data", "fast", "v", 1)},
		Pods:   []fact.Pod{podOf("shop", "db-0", "Deployment", "db")},
		Mounts: []fact.Mount{mountOf("db-0", "data", "data", "csi:1", "v", day(1, 3))},
	})
	rows(t, c, "TRUNCATE TABLE volume_states")
	if got := column(t, c, "orphans", "reason"); got != "" {
		t.Errorf("a claim whose volume is in use is an orphan: %s", got)
	}
}

// TestSpaceOfAGroupThatIsNamedTwice counts a claim once for it.
func TestSpaceOfAGroupThatIsNamedTwice(t *testing.T) {
	c := migrated(t)
	claim := claimOf("data", "fast", "v", 1)
	claim.Groups = []string{"x", "y", "x"}
	write(t, c, "east", &fact.Facts{Volumes: []fact.Volume{volumeOf("v", "fast", "csi:1", "claim-data", "Bound", 1)}, Claims: []fact.Claim{claim}})
	for of, want := range map[string]string{"group": "x,y", "claims": "1,1", "capacity_bytes": "1073741824,1073741824"} {
		if got := column(t, c, "space", of, "by=group"); got != want {
			t.Errorf("%s by group is %s, want %s", of, got, want)
		}
	}
}

// TestNoBeginningIsNoDuration: an API server before Kubernetes 1.28 does not say since when a volume has its phase, and of what was bound before
// the tracker came, nobody knows since when. It is not shown as zero seconds. The release is known.
func TestNoBeginningIsNoDuration(t *testing.T) {
	c := migrated(t)
	failed, released := volumeOf("failed", "fast", "csi:1", "claim-x", "Failed", 1), volumeOf("released", "fast", "csi:2", "claim-gone", "Released", 1)
	failed.ReclaimPolicy, released.ReclaimPolicy = "Retain", "Retain"
	write(t, c, "east", &fact.Facts{
		Volumes: []fact.Volume{failed, released, volumeOf("bound", "fast", "csi:3", "claim-data", "Bound", 1)}, Claims: []fact.Claim{claimOf("data", "fast", "bound", 1)},
		Bindings: []fact.Binding{
			{Version: 1, ClaimUID: "claim-data", VolumeUID: "bound"},
			{Version: 1, ClaimUID: "claim-gone", VolumeUID: "released", ReleasedAt: day(2, 1), ReleasedNotBefore: day(1, 1)},
			// Nobody knows when it lost its last claim.
			{Version: 1, ClaimUID: "claim-old", VolumeUID: "failed", BoundAt: day(1, 2), ReleasedAt: day(1, 5), ReleasedNotBefore: day(1, 5)},
			{Version: 1, ClaimUID: "claim-x", VolumeUID: "failed", BoundAt: day(1, 10)},
		},
	})
	checkCases(t, func(name, of string, flags ...string) string { return column(t, c, name, of, flags...) }, []reportCase{
		{"bindings", "lasted_seconds", "since=2026-01-15", fmt.Sprint(50*86400) + ",,"},
		{"bindings", "persistentvolume", "since=2026-01-15", "pv-failed,pv-bound,pv-released"},
		{"bindings", "persistentvolume", "at=2025-12-31", ""}, // the objects are of January 1st
		{"volume", "event", "volume=pv-released until=2025-12-31", ""},
		{"orphans", "name", "", "data,pv-released,pv-failed"},
		{"orphans", "orphaned_seconds", "", fmt.Sprintf("%d,%d,", 59*86400, 28*86400)},
		{"volume", "event", "volume=pv-released", "bound,exists"},
		{"volume", "object", "volume=pv-released", "PersistentVolumeClaim/shop/gone,PersistentVolume/pv-released"},
		{"volume", "started_at", "volume=pv-released", ",2026-01-01T12:00:00Z"},
		{"volume", "ended_at", "volume=pv-released", "2026-02-01T12:00:00Z,"},
		{"volume", "lasted_seconds", "volume=pv-released", "," + fmt.Sprint(59*86400)},
	})
}

// TestPercentOfAShareOfManyPebibytes: a hundredfold of 92 PiB is more than an Int64 has room for.
func TestPercentOfAShareOfManyPebibytes(t *testing.T) {
	c := migrated(t)
	write(t, c, "east", &fact.Facts{
		Volumes: []fact.Volume{volumeOf("v", "nfs", "nfs:1", "claim-data", "Bound", 100<<20)},
		Claims:  []fact.Claim{claimOf("data", "nfs", "v", 100<<20)},
		Usage:   []fact.Usage{{At: day(1, 7), Namespace: "shop", VolumeUID: "v", Space: fact.Space{UsedBytes: 95 << 50, CapacityBytes: 100 << 50, AvailableBytes: 5 << 50}}},
	})
	if got := column(t, c, "rightsize", "used_percent"); got != "95" {
		t.Errorf("used_percent is %s, want 95", got)
	}
}
