package catalog_test

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// team is a cluster whose history is known. One volume, data, changed hands: an import job filled it, an API served it in
// three pods, one after the other, and a report reads it beside them; a developer mounted it by hand while nobody watched.
// Another team had a volume of its own, which was released. A third volume, spare, is bound, and nobody has mounted it. Each pod
// is created when its mounts begin, and deleted when they end. Another pod of the report, report-0, waits for a claim of its own
// from February 20th to 25th, and never starts. Pods were watched from January 10th on, but for the days from February 5th to 10th.
//
//	Jan 3       Jan 20     Feb 1      Feb 7    Feb 12     Feb 20       Mar 1
//	import ─────┤
//	            api-1 ─────┤ api-2 ────────────┤ api-3 ──────────────────
//	                                  shell ─┤ (bounds: Feb 6 to 9)
//	                                                      report ────────
func team() *fact.Facts {
	pod := func(name, kind, workload, owner string, groups ...string) fact.Pod {
		p := podOf("shop", name, kind, workload)
		p.Owner, p.Groups, p.Node = owner, groups, "node-"+name[len(name)-1:]
		return p
	}
	use := func(pod string, start fact.Time) fact.Mount {
		return mountOf(pod, "data", "data", "csi:1", "data", start)
	}
	f := &fact.Facts{
		VolumeSources: []fact.VolumeSource{
			{Version: 1, ID: "csi:1", Kind: "csi", Driver: "ebs.csi.aws.com", Path: "vol-1"},
			{Version: 1, ID: "csi:2", Kind: "csi", Driver: "ebs.csi.aws.com", Path: "vol-2"},
			{Version: 1, ID: "nfs:1", Kind: "nfs", Server: "nfs.example.com", Path: "/export/logs"},
			{Version: 1, ID: "emptyDir:1", Kind: "emptyDir"},
		},
		Volumes: []fact.Volume{
			volumeOf("data", "fast", "csi:1", "claim-data", "Bound", 20), volumeOf("logs", "", "nfs:1", "claim-logs", "Released", 100),
			volumeOf("spare", "fast", "csi:2", "claim-spare", "Bound", 5),
		},
		Claims: []fact.Claim{claimOf("data", "fast", "data", 20), claimOf("logs", "", "logs", 100), claimOf("spare", "fast", "spare", 5)},
		Bindings: []fact.Binding{
			{Version: 1, ClaimUID: "claim-data", VolumeUID: "data", BoundAt: day(1, 2)},
			{Version: 1, ClaimUID: "claim-logs", VolumeUID: "logs", BoundAt: day(1, 2), ReleasedNotBefore: day(2, 5), ReleasedAt: day(2, 10)},
			{Version: 1, ClaimUID: "claim-spare", VolumeUID: "spare", BoundAt: day(1, 2)},
		},
		Pods: []fact.Pod{
			pod("import-1", "Job", "import", "ann", "data"), pod("api-1", "Deployment", "api", "bob", "web", "shop"),
			pod("api-2", "Deployment", "api", "bob", "web", "shop"), pod("api-3", "Deployment", "api", "bob", "web", "shop"),
			pod("shell-1", "", "", ""), pod("report-1", "CronJob", "report", "ann", "data"), pod("logger-1", "DaemonSet", "logger", "ops", "infra"),
		},
		Mounts: []fact.Mount{
			endedMount(use("import-1", day(1, 3)), day(1, 20), day(1, 20), "Completed"),
			endedMount(use("api-1", day(1, 20)), day(2, 1), day(2, 1), "Deleted"),
			endedMount(use("api-2", day(2, 1)), day(2, 12), day(2, 12), "Evicted"),
			use("api-3", day(2, 12)),
			endedMount(use("shell-1", day(2, 4)), day(2, 6), day(2, 9), "Deleted"),
			use("report-1", day(2, 20)),
			mountOf("report-1", "scratch", "", "emptyDir:1", "", day(2, 20)),
			endedMount(mountOf("logger-1", "logs", "logs", "nfs:1", "logs", day(1, 3)), day(1, 31), day(1, 31), "Deleted"),
		},
		Coverage: []fact.Coverage{
			{Version: 1, Instance: "a", Kind: fact.Pods, StartedAt: day(1, 10), SeenAt: day(2, 5), EndedAt: day(2, 5)},
			{Version: 2, Instance: "a", Kind: fact.Pods, StartedAt: day(2, 10), SeenAt: day(3, 1)},
		},
	}
	f.Mounts[5].ReadOnly = true
	for i := range f.Mounts {
		mount := &f.Mounts[i]
		pod := &f.Pods[slices.IndexFunc(f.Pods, func(p fact.Pod) bool { return p.UID == mount.PodUID })]
		pod.CreatedAt, pod.StartedAt = mount.StartedAt, mount.StartedAt
		pod.FinishedAt, pod.DeletedAt, pod.DeletedNotBefore = mount.EndedAt, mount.EndedAt, mount.EndedNotBefore
		mount.PodCreatedAt, mount.Node = pod.CreatedAt, pod.Node
	}
	f.Claims[1].DeletedNotBefore, f.Claims[1].DeletedAt = day(2, 5), day(2, 10)
	f.Claims[0].Owner, f.Claims[0].Groups = "carol", []string{"storage"}
	waiting := pod("report-0", "CronJob", "report", "ann", "data")
	waiting.Node, waiting.Phase, waiting.StartedAt = "", "Pending", 0
	waiting.CreatedAt, waiting.DeletedAt, waiting.DeletedNotBefore = day(2, 20), day(2, 25), day(2, 25)
	f.Pods = append(f.Pods, waiting)
	f.Claims = append(f.Claims, fact.Claim{
		Version: 1, UID: "claim-report-0-scratch", Namespace: "shop", Name: "report-0-scratch", StorageClass: "fast", RequestedBytes: gib, Phase: "Pending",
		Ephemeral: true, PodUID: waiting.UID, CreatedAt: day(2, 20), DeletedAt: day(2, 25), DeletedNotBefore: day(2, 25),
	})
	f.StorageCapacity = []fact.StorageCapacity{
		{At: day(1, 10), UID: "zone-a", StorageClass: "fast", Driver: "ebs.csi.aws.com", Topology: "zone=a", CapacityBytes: 500 * gib},
		{At: day(1, 9), UID: "zone-a-deleted", StorageClass: "fast", Driver: "ebs.csi.aws.com", Topology: "zone=a", CapacityBytes: gib}, // and made anew
		{At: day(1, 11), UID: "zone-a-deleted", StorageClass: "fast", Driver: "ebs.csi.aws.com", Topology: "zone=a", Gone: true},
		{At: day(2, 16), UID: "zone-a-copy", StorageClass: "fast", Driver: "ebs.csi.aws.com", Topology: "zone=a", CapacityBytes: gib}, // which counts while it is the largest
		{At: day(1, 12), UID: "node-1", StorageClass: "local", Driver: "lvm.csi.example.com", Topology: "node=1", CapacityBytes: 3 * gib},
		{At: day(2, 3), UID: "node-1", StorageClass: "local", Driver: "lvm.csi.example.com", Topology: "node=1", CapacityBytes: 2 * gib}, // by the event that deletes it
		{At: day(2, 3), UID: "node-1", StorageClass: "local", Driver: "lvm.csi.example.com", Topology: "node=1", Gone: true},
		{At: day(2, 4), UID: "node-2", StorageClass: "local", Driver: "lvm.csi.example.com", Topology: "node=2", Gone: true}, // no amount yet
		{At: day(2, 6), UID: "node-2", StorageClass: "local", Driver: "lvm.csi.example.com", Topology: "node=2", CapacityBytes: 0},
		{At: day(2, 15), UID: "zone-a", StorageClass: "fast", Driver: "ebs.csi.aws.com", Topology: "zone=a", CapacityBytes: 480 * gib, MaximumVolumeBytes: 16 * gib},
	}
	for at, used := range map[fact.Time]int64{day(1, 10): 4, day(1, 25): 9, day(2, 8): 16} {
		f.Usage = append(f.Usage, fact.Usage{At: at, Namespace: "shop", ClaimUID: "claim-data", VolumeUID: "data", Space: fact.Space{
			CapacityBytes: 20 * gib, UsedBytes: used * gib, AvailableBytes: (20 - used) * gib, Inodes: 1000, InodesUsed: 100,
		}})
	}
	version := func(uid string, observed fact.Time, object string) fact.Object {
		return fact.Object{Kind: fact.Volumes, UID: uid, Name: "pv-" + uid, ResourceVersion: fmt.Sprint(observed), ObservedAt: observed, Object: object}
	}
	f.Objects = []fact.Object{
		version("data", day(1, 10), `{"spec":{"capacity":{"storage":"10Gi"}},"status":{"phase":"Bound","lastPhaseTransitionTime":"2026-01-02T12:00:00Z"}}`),
		version("data", day(1, 16), `{"spec":{"capacity":{"storage":"20Gi"}},"status":{"phase":"Bound","lastPhaseTransitionTime":"2026-01-02T12:00:00Z"}}`),
		version("spare", day(1, 10), `{"spec":{"capacity":{"storage":"5Gi"}},"status":{"phase":"Bound","lastPhaseTransitionTime":"2026-01-02T12:00:00Z"}}`),
		version("logs", day(1, 10), `{"spec":{"capacity":{"storage":"100Gi"}},"status":{"phase":"Bound","lastPhaseTransitionTime":"2026-01-02T12:00:00Z"}}`),
		version("logs", day(2, 10), `{"spec":{"capacity":{"storage":"100Gi"}},"status":{"phase":"Released","lastPhaseTransitionTime":"2026-02-08T12:00:00Z"}}`),
	}
	f.Coverage = append(f.Coverage,
		fact.Coverage{Version: 1, Instance: "a", Kind: fact.Volumes, StartedAt: day(1, 10), SeenAt: day(2, 5), EndedAt: day(2, 5)},
		fact.Coverage{Version: 2, Instance: "a", Kind: fact.Volumes, StartedAt: day(2, 10), SeenAt: day(3, 1)})
	f.Changes = []fact.Change{
		{At: day(1, 15), Kind: "PersistentVolumeClaim", UID: "claim-data", Namespace: "shop", Name: "data", Action: fact.ResizeRequested, Details: "10Gi → 20Gi", Actor: "kubectl"},
		{At: day(1, 16), Kind: "PersistentVolume", UID: "data", Name: "pv-data", Action: fact.Resized, Details: "10Gi → 20Gi", Actor: "external-resizer"},
		{At: day(2, 10), Kind: "PersistentVolume", UID: "logs", Name: "pv-logs", Action: fact.Phase, Details: "Bound → Released"},
	}
	return f
}

// column returns one column of a report, with commas between the rows.
func column(t *testing.T, c *catalog.Catalog, name, of string, flags ...string) string {
	t.Helper()
	result, err := c.RunReport(t.Context(), name, flagsOf(flags), 0)
	if err != nil {
		t.Fatalf("%s %v: %v", name, flags, err)
	}
	if err := result.Select([]string{"cluster", of}); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := result.Write(&out, catalog.CSVFormat); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var cells []string
	for _, line := range lines[1:] {
		cells = append(cells, line[1])
	}
	return strings.Join(cells, ",")
}

// TestReportsLookBack asks for moments and windows whose answers the history's picture shows.
func TestReportsLookBack(t *testing.T) {
	c := migrated(t)
	write(t, c, "east", team())
	for _, test := range []struct {
		report, column, flags string
		want                  string
	}{
		{"apps", "workload", "", "CronJob/report,Deployment/api"},
		{"apps", "workload", "at=2026-01-02", ""},
		{"apps", "workload", "at=2026-01-03 12:00", "Job/import"}, // at the moment of the start
		{"apps", "workload", "at=2026-01-03 11:59:59", ""},
		{"apps", "workload", "at=2026-01-10", "Job/import"},
		{"apps", "workload", "at=2026-01-20T12:00:00Z", "Deployment/api"}, // one ended, and another began
		{"apps", "workload", "at=2026-02-04T18:00:00+05:00", "Deployment/api,Pod/shell-1"},
		{"apps", "workload", "at=2026-02-08", "Deployment/api,Pod/shell-1"}, // it may have been in use
		{"apps", "workload", "at=2026-02-10", "Deployment/api"},
		{"apps", "workload", "at=30d", "Deployment/api"}, // January 30th
		{"apps", "workload", "since=2026-01-05 until=2026-01-25", "Deployment/api,Job/import"},
		{"apps", "workload", "until=2026-01-19", "Job/import"},
		{"apps", "workload", "since=2026-02-10", "CronJob/report,Deployment/api"},
		{"apps", "pods", "since=60d", "1,3,1,1"},
		{"apps", "nodes", "since=2026-02-13 workload=api", `["node-3"]`},
		{"apps", "workload", "since=60d namespace=lab", ""},
		{"apps", "workload", "since=60d workload=Deployment/api", "Deployment/api"},
		{"apps", "workload", "since=60d workload=CronJob/api", ""},
		{"users", "owner", "", "ann,bob"},
		{"users", "owner", "at=2026-02-05", "bob,carol"}, // the pod has no owner, and its claim has
		{"users", "owner", "since=60d group=data", "ann"},
		{"users", "owner", "since=60d group=storage", "carol"},
		{"users", "workloads", "since=60d owner=ann", `["CronJob/report","Job/import"]`},
		{"history", "persistentvolume", "group=data", ",pv-data"}, // and an emptyDir
		{"history", "persistentvolume", "group=infra", "pv-logs"},
		{"history", "persistentvolume", "group=infra since=20d", ""},
		{"history", "persistentvolume", "group=infra until=2026-02-20", "pv-logs"}, // 30 days before that
		{"history", "persistentvolume", "owner=ops until=2026-03-01 since=60d", "pv-logs"},
		{"history", "backend", "storageclass=fast group=web", "ebs.csi.aws.com vol-1"},
		{"mounts", "pod", "volume=pv-data at=2026-02-08", "shell-1,api-2"},
		{"mounts", "pod", "since=2026-02-13 until=2026-02-14", "api-3"},
		{"idle", "volume", "at=2026-01-02", ""},
		{"idle", "volume", "at=2026-01-03", "pv-data,pv-logs,pv-spare"},
		{"idle", "state", "at=2026-01-03", "never_mounted,never_mounted,never_mounted"},
		{"idle", "capacity_bytes", "at=2026-01-03", "10737418240,107374182400,5368709120"}, // before the resize
		{"idle", "volume", "at=2026-01-15", "pv-spare"},
		{"idle", "last_pod", "at=2026-02-02", ",logger-1"},
		{"idle", "idle_seconds", "at=2026-02-02", "2635200,129600"},
		{"idle", "observed_seconds", "at=2026-02-09", "2246400,432000"}, // nobody watched from February 5th
		{"idle", "state", "at=2026-02-08", "never_mounted,idle"},        // it may have been bound
		{"idle", "state", "at=2026-02-11", "never_mounted,released"},
		{"idle", "volume", "at=2026-02-11 min-idle=12d", "pv-spare"},
		{"idle", "volume", "at=2026-02-11 namespace=lab", ""},
		{"idle", "volume", "at=2026-02-11 namespace=shop min-idle=10d", "pv-spare,pv-logs"},
		{"never-mounted", "claim", "at=2026-01-02", "data,logs,spare"}, // before anybody mounted them
		{"never-mounted", "phase", "at=2026-01-02", "Pending,Pending,Pending"},
		{"never-mounted", "requested_bytes", "at=2026-01-14 storageclass=fast", "5368709120"},
		{"never-mounted", "claim", "at=2026-02-21", "spare,report-0-scratch"},
		{"never-mounted", "claim", "at=2026-02-26", "spare"},
		{"never-mounted", "age_seconds", "at=2026-02-21 owner=carol", ""},
		{"idle", "used_bytes", "at=2026-01-03 owner=carol group=storage", ""},
		{"mounts", "pod", "owner=carol", "shell-1"}, // the pod has no owner, and its claim has
		{"mounts", "pod", "owner=ann", "report-1,report-1,import-1"},
		{"mounts", "pod", "owner=ann limit=2", "report-1,report-1"},
		{"mounts", "pod", "group=storage", "shell-1"},
		{"mounts", "pod", "group=web at=2026-02-08", "api-2"},
		{"mounts", "pod", "storageclass=fast at=2026-02-08", "shell-1,api-2"},
		{"mounts", "pod", "storageclass=slow", ""},
		{"mounts", "pod", "workload=api limit=1", "api-3"},
		{"mounts", "pod", "workload=Deployment/api at=2026-02-08", "api-2"},
		{"mounts", "pod", "workload=Pod/shell-1", "shell-1"},
		{"mounts", "pod", "workload=shell-1", "shell-1"},
		{"mounts", "pod", "workload=Pod/api-1", ""},
		{"mounts", "pod", "workload=CronJob/report owner=ann storageclass=fast", "report-1"},
	} {
		flags := strings.Fields(strings.ReplaceAll(test.flags, " 1", "T1"))
		if test.report == "apps" || test.report == "users" {
			flags = append(flags, "volume=pv-data")
		}
		if got := column(t, c, test.report, test.column, flags...); got != test.want {
			t.Errorf("%s %s:\n got %s\nwant %s", test.report, test.flags, got, test.want)
		}
	}
	golden(t, "users.txt", report(t, c, "users", catalog.TableFormat, "volume=pv-data", "since=60d"))
	golden(t, "apps.txt", report(t, c, "apps", catalog.TableFormat, "volume=pv-data", "since=60d"))
	golden(t, "history.txt", report(t, c, "history", catalog.TableFormat, "group=data", "since=60d"))
	golden(t, "apps.yaml", report(t, c, "apps", catalog.YAMLFormat, "volume=pv-data", "at=2026-02-08"))
	golden(t, "apps.md", report(t, c, "apps", catalog.MarkdownFormat, "volume=pv-data", "since=60d"))
}

// TestNowIsThisMoment asks for the present in both ways, which are different SQL.
func TestNowIsThisMoment(t *testing.T) {
	c := migrated(t)
	write(t, c, "east", team())
	write(t, c, "west", team())
	for _, flags := range []string{"", "cluster=east", "namespace=shop", "namespace=lab", "storageclass=fast", "min-idle=20d", "limit=1", "owner=carol"} {
		now := report(t, c, "idle", catalog.JSONFormat, strings.Fields(flags)...)
		at := report(t, c, "idle", catalog.JSONFormat, append(strings.Fields(flags), "at=2026-03-01T12:00:00Z")...)
		if now != at {
			t.Errorf("%s:\n now %s\nthen %s", flags, now, at)
		}
		if strings.HasPrefix(flags, "min-idle") {
			continue
		}
		now = report(t, c, "never-mounted", catalog.JSONFormat, strings.Fields(flags)...)
		at = report(t, c, "never-mounted", catalog.JSONFormat, append(strings.Fields(flags), "at=2026-03-01T12:00:00Z")...)
		if now != at {
			t.Errorf("never-mounted %s:\n now %s\nthen %s", flags, now, at)
		}
	}
}

// TestVolumesByAllTheirNames asks for one volume by each name that it has.
func TestVolumesByAllTheirNames(t *testing.T) {
	c := migrated(t)
	f := team()
	f.Volumes[0].VolumeHandle = "vol-1"
	f.Bindings[0].ReleasedAt = day(2, 1) // now it has another claim
	f.Claims[0].VolumeUID = ""
	f.Mounts[3].VolumeUID, f.Mounts[3].ClaimUID = "", "claim-new" // written before its volume was known
	f.Claims = append(f.Claims, claimOf("new", "fast", "data", 20))
	write(t, c, "east", f)
	for _, name := range []string{"pv-data", "data", "vol-1", "shop/data", "shop/new"} {
		if got := column(t, c, "apps", "workload", "volume="+name); got != "CronJob/report,Deployment/api" {
			t.Errorf("%s: %s", name, got)
		}
		for _, report := range []string{"apps", "mounts", "use-hours"} {
			workloads := strings.Split(column(t, c, report, "workload", "volume="+name, "since=2026-01-01"), ",")
			slices.Sort(workloads)
			if got := strings.Join(slices.Compact(workloads), ","); got != "CronJob/report,Deployment/api,Job/import,Pod/shell-1" {
				t.Errorf("%s of %s: %s", report, name, got)
			}
		}
	}
}

func TestNotesSayWhatIsNotKnown(t *testing.T) {
	c := migrated(t)
	write(t, c, "east", team())
	const gap = "nobody watched cluster east from 2026-02-05 12:00:00 to 2026-02-10 12:00:00: what ended then has bounds, and what came and went then may be missing"
	const begin = "nobody watched cluster east before 2026-01-10 12:00:00: of earlier times the catalog knows only what objects still said then"
	for question, want := range map[string]string{
		"apps volume=pv-data":                                   gap,
		"apps volume=pv-data at=2026-01-09":                     begin,
		"apps volume=pv-data at=2026-01-11":                     "",
		"apps volume=pv-data at=2026-02-07":                     gap,
		"apps volume=pv-data at=2026-02-11":                     "",
		"apps volume=pv-data since=2026-02-11":                  "",
		"apps volume=pv-data since=2026-01-05":                  begin + "\n" + gap,
		"apps volume=pv-data until=2026-02-01":                  "",
		"apps volume=pv-data cluster=west":                      `no tracker has written cluster "west" into this catalog, which has: east`,
		"apps volume=pv-data since=2026-02-01 until=2026-02-06": gap,
		// It compares the window with the one before.
		"creation-rate":                                   begin + "\n" + gap,
		"creation-rate since=1970-01-01":                  begin + "\n" + gap,
		"creation-rate since=2026-02-15":                  gap,
		"creation-rate since=2026-02-22":                  "",
		"creation-rate since=2026-02-22 per=week":         gap,   // since February 16th, and 2nd
		"creation-rate since=2026-01-22 until=2026-02-03": begin, // since January 10th, 0:00
		"creation-rate since=2026-01-22 until=2026-02-02": "",
	} {
		report, rest, _ := strings.Cut(question, " ")
		flags := flagsOf(strings.Fields(rest))
		result, err := c.RunReport(t.Context(), report, flags, 0)
		if err != nil {
			t.Fatal(err)
		}
		for result.Next() {
		}
		result.Close()
		notes, err := result.Notes()
		if err != nil || strings.Join(notes, "\n") != want {
			t.Errorf("%s: %v\n got %s\nwant %s", question, err, strings.Join(notes, "\n"), want)
		}
	}
}

// TestUntilAlone: the usual span is before the end of the window, or before now if that comes first, and not before 1970.
func TestUntilAlone(t *testing.T) {
	c := migrated(t)
	write(t, c, "east", &fact.Facts{Volumes: []fact.Volume{{Version: 1, UID: "v", Name: "v", CreatedAt: day(2, 20)}}})
	for until, want := range map[string]bool{"until=2299-12-31": true, "until=2026-04-15": true, "until=2026-02-19": false, "until=1970-01-15": false, "until=1970-01-01": false} {
		if got := slices.Contains(strings.Split(column(t, c, "creation-rate", "volumes", until), ","), "1"); got != want {
			t.Errorf("%s: has the volume: %t, want %t", until, got, want)
		}
	}
	if got := column(t, c, "creation-rate", "volumes_before", "since=2026-02-28", "until=2026-03-01"); got != "" {
		t.Errorf("volumes of the day before, of a cluster that nobody watched: %s, want none", got)
	}
	write(t, c, "west", &fact.Facts{Volumes: []fact.Volume{{Version: 1, UID: "old", Name: "old", CreatedAt: fact.At(time.Date(1970, 1, 2, 0, 0, 0, 0, time.UTC))}}})
	if got := column(t, c, "creation-rate", "volumes", "cluster=west", "until=1970-01-08", "per=week"); got != "1,0" {
		t.Errorf("volumes of the first two weeks of 1970: %s, want 1,0", got)
	}
}

func TestMistakesInTimes(t *testing.T) {
	c := migrated(t)
	for flags, want := range map[string]string{
		"at=yesterday":                      `report apps: --at: "yesterday" is not a time; write how long ago (30d, 12h), a date (2026-11-20), or a time in UTC (2026-11-20 15:04, 2026-11-20T15:04:05Z)`,
		"at=2026-02-30":                     `--at: "2026-02-30" is not a time`,
		"since=2026-02-02 until=2026-02-01": "--since=2026-02-02 is after --until=2026-02-01; swap them",
		"since=2026-02-02 until=2026-02-02": "--since=2026-02-02 and --until=2026-02-02 are the same moment; a date is its beginning in UTC, so the day 2026-02-02 ends with --until=2026-02-03",
		"since=1d until=2d":                 "--since=1d is after --until=2d; swap them",
		"at=1d since=2d":                    "--at is for a moment, --since and --until are for a window: give the one or the others",
		"at=2026-03-02":                     "--at: 2026-03-02 is in the future",
		"since=2026-03-02":                  "--since: 2026-03-02 is in the future",
		"since=1969-12-31":                  "--since: 1969-12-31 is before 1970",
		"until=2300-01-01":                  "--until: 2300-01-01 is after 2299-12-31",
	} {
		_, err := c.RunReport(t.Context(), "apps", flagsOf(append(strings.Fields(flags), "volume=x")), 0)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", flags, err, want)
		}
	}
	if _, err := c.RunReport(t.Context(), "apps", nil, 0); err == nil || !strings.Contains(err.Error(), "report apps: VOLUME is missing: A PersistentVolume") {
		t.Errorf("got %v", err)
	}
}

func TestColumnsAreSelected(t *testing.T) {
	c := migrated(t)
	write(t, c, "east", team())
	result, err := c.RunReport(t.Context(), "mounts", flagsOf([]string{"volume=pv-data", "since=2026-02-21"}), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer result.Close()
	if err := result.Select([]string{"pod", "nope"}); err == nil || !strings.HasPrefix(err.Error(), `there is no column "nope"; there are cluster, namespace, pod, container, kind`) {
		t.Errorf("got %v", err)
	}
	if err := result.Select([]string{"volume", " cluster"}); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := result.Write(&out, catalog.TableFormat); err != nil || out.String() != "VOLUME   CLUSTER\ndata     east\ndata     east\n" {
		t.Errorf("%v: %s", err, out.String())
	}
}

// TestMoreRowsThanCanBeSent checks that a report whose rows are too many to be sent along with its statement has the same answer.
func TestMoreRowsThanCanBeSent(t *testing.T) {
	c := migrated(t)
	write(t, c, "east", team())
	for _, name := range []string{"history", "pods-per-volume", "use-hours", "idle"} {
		flags := []string{"since=2026-01-01", "until=2026-03-01", "limit=2"}
		if name == "idle" {
			flags = []string{"at=2026-03-01", "limit=2"}
		}
		sent := report(t, c, name, catalog.CSVFormat, flags...)
		back := c.SendAtMost(1)
		read := report(t, c, name, catalog.CSVFormat, flags...)
		back()
		if read != sent || strings.Count(sent, "\n") != 3 {
			t.Errorf("%s with and without rows that are sent along:\n%s\n%s", name, sent, read)
		}
	}
}
