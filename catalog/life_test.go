package catalog_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

func TestLives(t *testing.T) {
	c := migrated(t)
	write(t, c, "east", team())
	golden(t, "volume.txt", report(t, c, "volume", catalog.TableFormat, "volume=pv-data"))
	golden(t, "volume.json", report(t, c, "volume", catalog.JSONFormat, "volume=pv-logs"))
	golden(t, "claim.txt", report(t, c, "claim", catalog.TableFormat, "claim=shop/logs"))
	golden(t, "pod.txt", report(t, c, "pod", catalog.TableFormat, "pod=shop/report-1"))
	golden(t, "workload.txt", report(t, c, "workload", catalog.TableFormat, "workload=shop/Deployment/api"))
	golden(t, "app-changes.txt", report(t, c, "app-changes", catalog.TableFormat, "volume=pv-data"))
	for name, flags := range map[string]string{"bindings": "since=60d", "resizes": "since=60d", "ephemeral": "since=60d", "capacity": "", "counts": "at=2026-02-01",
		"never-mounted": "", "pods-per-volume": "since=60d", "volumes-per-pod": "since=60d", "lifetimes": ""} {
		golden(t, name+".txt", report(t, c, name, catalog.TableFormat, strings.Fields(flags)...))
	}
	golden(t, "coverage.txt", report(t, c, "coverage", catalog.TableFormat))
	golden(t, "creation-rate.txt", report(t, c, "creation-rate", catalog.TableFormat, "per=week"))
	golden(t, "find.txt", report(t, c, "find", catalog.TableFormat, "name=nfs.example.com"))
}

// TestWhatHappenedInAWindow asks for parts of lives and of other histories.
func TestWhatHappenedInAWindow(t *testing.T) {
	c := migrated(t)
	write(t, c, "east", team())
	for _, test := range []struct {
		report, column, flags string
		want                  string
	}{
		{"volume", "event", "volume=pv-data until=2026-01-02T06:00", "exists,exists"},
		{"volume", "event", "volume=pv-data since=2026-01-15 until=2026-01-17", "exists,exists,bound,mounted,resize_requested,resized"},
		{"volume", "object", "volume=pv-data since=2026-02-13 until=2026-02-14", "PersistentVolume/pv-data,PersistentVolumeClaim/shop/data,PersistentVolumeClaim/shop/data,Pod/shop/api-3"},
		{"volume", "ended_not_before", "volume=pv-logs since=2026-02-09 until=2026-02-09T00:00:01", ",2026-02-05T12:00:00Z,2026-02-05T12:00:00Z,"},
		{"claim", "event", "claim=claim-logs since=2026-02-09", "exists,exists,bound,unwatched,phase"},
		{"pod", "details", "pod=shop/import-1 until=2026-01-09", "data in main at /data for Job/import: Completed,on node node-1 for Job/import"},
		{"pod", "event", "pod=lab/import-1", ""},
		{"workload", "object", "workload=shop/CronJob/report", "Pod/shop/report-1,Pod/shop/report-1,Pod/shop/report-1,PersistentVolumeClaim/shop/report-0-scratch,Pod/shop/report-0"},
		{"workload", "object", "workload=shop/Pod/shell-1", "Pod/shop/shell-1,Pod/shop/shell-1,"},
		{"workload", "event", "workload=lab/Pod/shell-1", ""},
		{"workload", "event", "workload=shop/Pod/api-3", ""}, // it has a controller
		{"app-changes", "change", "volume=pv-data", "came,went,came,came,went,came"},
		{"app-changes", "workload", "volume=pv-data since=2026-02-01", "Pod/shell-1,Pod/shell-1,CronJob/report"},
		{"app-changes", "apps", "volume=pv-data", `["Job/import"],["Deployment/api"],["Deployment/api"],["Deployment/api","Pod/shell-1"],["Deployment/api"],["CronJob/report","Deployment/api"]`},
		// The flags choose rows: the workloads that they leave out are on the volume, too.
		{"app-changes", "apps", "volume=pv-data workload=Pod/shell-1", `["Deployment/api","Pod/shell-1"],["Deployment/api"]`},
		{"app-changes", "apps", "volume=pv-data owner=carol", `["Deployment/api","Pod/shell-1"],["Deployment/api"]`}, // of the claim, as the pod has none
		{"app-changes", "apps", "volume=pv-data group=data since=2026-02-01", `["CronJob/report","Deployment/api"]`},
		{"app-changes", "workload", "volume=pv-data workload=api namespace=shop storageclass=fast cluster=east", "Deployment/api"},
		{"app-changes", "workload", "volume=pv-data workload=Pod/api", ""},
		{"app-changes", "workload", "volume=pv-data namespace=lab", ""},
		{"app-changes", "workload", "volume=pv-data cluster=west", ""},
		{"app-changes", "at_not_before", "volume=pv-data since=2026-02-05 until=2026-02-10", "2026-02-06T12:00:00Z"},
		{"coverage", "state", "", "watched,unwatched,watched"},
		{"coverage", "state", "at=2026-02-07", "unwatched"},
		{"coverage", "state", "at=2026-01-09", ""},
		{"coverage", "lasted_seconds", "since=2026-02-11", "1641600"},
		{"creation-rate", "volumes", "since=2025-12-31 until=2026-01-04", "0,3,0,0"},
		{"creation-rate", "claims", "since=2025-12-31 until=2026-01-04 namespace=shop", "0,3,0,0"},
		{"creation-rate", "claims", "since=2025-12-31 until=2026-01-04 storageclass=fast", "0,2,0,0"},
		{"creation-rate", "volumes", "since=2025-12-31 until=2026-01-04 namespace=lab", ""},
		{"creation-rate", "volumes", "since=2025-12-31 until=2026-01-04 owner=carol", "0,1,0,0"},
		{"creation-rate", "claims", "since=2025-12-31 until=2026-01-04 group=storage", "0,1,0,0"},
		{"creation-rate", "volumes", "since=2025-12-31 until=2026-01-04 owner=ann", ""},
		{"creation-rate", "volumes_before", "since=2026-01-03 until=2026-01-05", ","},              // nobody watched then
		{"creation-rate", "volumes_before", "since=2026-01-26 until=2026-02-23 per=week", ",,0,0"}, // since January 12th
		{"creation-rate", "claims_before", "since=2026-01-26 until=2026-02-23 per=week", ",,0,0"},
		{"creation-rate", "claims_before", "since=2026-02-24 until=2026-02-28", "1,0,0,0"},
		{"creation-rate", "period_start", "since=2026-01-01 until=2026-01-15 per=week", "2025-12-29T00:00:00Z,2026-01-05T00:00:00Z,2026-01-12T00:00:00Z"},
		{"creation-rate", "period_end", "since=2026-01-01T11:30 until=2026-01-01T13:30 per=hour", "2026-01-01T12:00:00Z,2026-01-01T13:00:00Z,2026-01-01T13:30:00Z"},
		{"creation-rate", "volumes", "since=2026-01-01T12:30 until=2026-01-01T14:30 per=hour", "3,0,0"},
		{"bindings", "claim", "", "data,spare"},
		{"bindings", "claim", "at=2026-02-08", "data,logs,spare"}, // it may have been bound
		{"bindings", "claim", "at=2026-02-11", "data,spare"},
		{"bindings", "claim", "at=2026-01-02", ""},
		{"bindings", "claim", "since=60d storageclass=fast", "data,spare"},
		{"bindings", "claim", "since=60d group=storage", "data"},
		{"bindings", "claim", "since=60d owner=ann", ""},
		{"bindings", "claim", "since=60d workload=DaemonSet/logger", "logs"},
		{"bindings", "claim", "workload=api", "data"},
		{"bindings", "claim", "at=2026-02-20 workload=logger", ""},
		{"bindings", "lasted_seconds", "", "5011200,5011200"},
		{"resizes", "size", "since=60d", "10Gi → 20Gi,10Gi → 20Gi"},
		{"resizes", "kind", "since=60d namespace=shop", "PersistentVolume,PersistentVolumeClaim"},
		{"resizes", "kind", "since=60d namespace=lab", ""},
		{"resizes", "kind", "since=60d owner=carol", "PersistentVolume,PersistentVolumeClaim"},
		{"resizes", "kind", "since=60d group=storage storageclass=fast", "PersistentVolume,PersistentVolumeClaim"},
		{"resizes", "kind", "since=60d owner=ann", ""},
		{"resizes", "kind", "since=60d storageclass=slow", ""},
		{"resizes", "kind", "since=60d workload=Pod/shell-1", "PersistentVolume,PersistentVolumeClaim"},
		{"resizes", "kind", "since=60d workload=logger", ""},
		{"resizes", "kind", "until=2026-01-15T18:00", "PersistentVolumeClaim"},
		{"resizes", "kind", "", ""},
		{"ephemeral", "pod", "", ""},
		{"ephemeral", "pod", "at=2026-02-24", "report-0"},
		{"ephemeral", "workload", "since=30d owner=ann workload=report", "CronJob/report"},
		{"ephemeral", "workload", "since=30d owner=bob", ""},
		{"ephemeral", "lasted_seconds", "since=30d group=data storageclass=fast", "432000"},
		{"capacity", "capacity_bytes", "", "515396075520,0"},
		{"capacity", "capacity_bytes", "at=2026-02-01", "536870912000,3221225472"},
		{"capacity", "capacity_bytes", "at=2026-02-04T12:00", "536870912000"}, // node-1 is gone, and node-2 has no amount
		{"capacity", "topology", "storageclass=local", "node=2"},
		{"capacity", "maximum_volume_bytes", "at=2026-02-01 storageclass=fast", ""},
		{"capacity", "capacity_bytes", "at=2026-01-09", ""},
		{"counts", "kind", "", "PersistentVolume,PersistentVolumeClaim,Pod,mount"},
		{"counts", "count", "", "3,2,2,3"},
		{"counts", "count", "at=2026-02-01T12:00", "3,3,1,1"},
		{"counts", "count", "at=2026-01-09 namespace=shop", "3,3,2,2"},
		{"counts", "kind", "owner=carol", "PersistentVolume,PersistentVolumeClaim"},
		{"counts", "count", "owner=carol", "1,1"},
		{"counts", "count", "at=2026-02-08 group=storage", "1,1,1,1"}, // the pod has no group, and its claim has
		{"counts", "kind", "owner=ann", "Pod,mount"},
		{"counts", "count", "owner=ann", "1,2"},
		{"counts", "count", "storageclass=fast at=2026-02-21", "2,3,2,2"},
		{"counts", "count", "storageclass=fast owner=ann", "1,1"},
		{"counts", "kind", "workload=CronJob/report", "PersistentVolume,PersistentVolumeClaim,Pod,mount"},
		{"counts", "count", "workload=CronJob/report", "1,1,1,2"},
		{"counts", "count", "workload=logger", ""},
		{"counts", "count", "workload=logger at=2026-01-20", "1,1,1,1"},
		{"counts", "count", "at=2025-12-30", ""},
		{"never-mounted", "claim", "", "spare"},
		{"never-mounted", "claim", "namespace=lab", ""},
		{"never-mounted", "age_seconds", "storageclass=fast", "5097600"},
		{"pods-per-volume", "pods", "", "2"},
		{"pods-per-volume", "persistentvolume", "since=60d", "pv-data,pv-logs"},
		{"pods-per-volume", "pods", "since=60d", "6,1"},
		{"pods-per-volume", "claims", "at=2026-02-08", `["shop/data"]`},
		{"pods-per-volume", "workloads", "since=60d owner=ann", `["CronJob/report","Job/import"]`},
		{"pods-per-volume", "workloads", "since=2025-01-01 owner=bob", `["Deployment/api"]`},
		{"volumes-per-pod", "pod", "", "report-1,api-3"},
		{"volumes-per-pod", "inline", "", "1,0"},
		{"volumes-per-pod", "volumes", "at=2026-01-15 workload=DaemonSet/logger", "1"},
		{"lifetimes", "kind", "", "PersistentVolumeClaim,PersistentVolumeClaim,mount,mount"},
		{"lifetimes", "longest_seconds", "storageclass=fast", "432000,1468800"},
		{"lifetimes", "kind", "owner=bob", "mount"}, // of bob's pods, with carol's claim
		{"lifetimes", "ended", "owner=bob", "2"},
		{"lifetimes", "storage_class", "group=web", "fast"},
		{"lifetimes", "ended", "owner=carol", "1"}, // the pod has no owner, and its claim has
		{"lifetimes", "longest_seconds", "group=infra", "2419200"},
		{"lifetimes", "kind", "owner=carol since=2026-02-10", ""},
		{"lifetimes", "median_seconds", "since=2026-02-01 until=2026-02-11 storageclass=fast namespace=shop", "1036800"},
		{"find", "kind", "name=pv-data", "PersistentVolume"},
		{"find", "matched", "name=data", "name,uid,name"},
		{"find", "kind", "name=vol-1", "PersistentVolume,backing store"},
		{"find", "name", "name=/export/logs", "pv-logs,nfs nfs.example.com:/export/logs"},
		{"find", "kind", "name=nfs.example.com:/export/logs", "PersistentVolume,backing store"},
		{"find", "kind", "name=node-1", "Node"},
		{"find", "kind", "name=shop/api-2", "Pod"},
		{"find", "kind", "name=pod-api-2", "Pod"},
		{"find", "kind", "name=Deployment/api", "Deployment"},
		{"find", "uid", "name=Pod/shell-1", "pod-shell-1"},
		{"find", "matched", "name=shop/Pod/shell-1", "name"},
		{"find", "kind", "name=lab/Pod/shell-1", ""},
		{"find", "kind", "name=carol", "Owner"},
		{"find", "kind", "name=nothing", ""},
		{"find", "kind", "name=data namespace=shop", "Group,PersistentVolume,PersistentVolumeClaim"},
		{"find", "kind", "name=data namespace=lab", ""},
		{"find", "kind", "name=/export/logs namespace=shop", "PersistentVolume"},
		{"find", "kind", "name=node-1 namespace=shop", ""},
	} {
		if got := column(t, c, test.report, test.column, strings.Fields(test.flags)...); got != test.want {
			t.Errorf("%s %s:\n got %s\nwant %s", test.report, test.flags, got, test.want)
		}
	}
}

// TestAttachmentsThatWaitBelongToTheLife has a volume that is attached to a node, and two that wait for it: one failed, and one was
// given up.
func TestAttachmentsThatWaitBelongToTheLife(t *testing.T) {
	c, s := migrated(t), newScene(t)
	s.claim("data", corev1.ReadWriteOnce)
	s.set(s.attach("data", "node-1", true, ""))
	s.now = day(2, 10)
	s.set(s.attach("data", "node-2", false, "no such disk"))
	s.now = day(2, 12)
	givenUp := s.attach("data", "node-3", false, "")
	s.set(givenUp)
	s.now = day(2, 13)
	if err := s.inv.Delete(givenUp, inventory.Live(s.now)); err != nil {
		t.Fatal(err)
	}
	write(t, c, "east", s.facts())
	run := func(report, of string, flags ...string) string { return column(t, c, report, of, flags...) }
	checkCases(t, run, []reportCase{
		{"volume", "event", "volume=pv-data since=2026-02-02", "attached,bound,exists,exists,attaching,attaching"},
		{"volume", "object", "volume=pv-data since=2026-02-11", "Node/node-1,PersistentVolumeClaim/shop/data,PersistentVolume/pv-data,PersistentVolumeClaim/shop/data,Node/node-2,Node/node-3"},
		{"volume", "details", "volume=pv-data since=2026-02-14", "by d,to volume pv-data,csi data,fast,by d no such disk"},
		{"claim", "started_at", "claim=shop/data since=2026-02-14", "2026-02-01T12:00:00Z,2026-02-01T12:00:00Z,2026-02-01T12:00:00Z,2026-02-01T12:00:00Z,2026-02-10T12:00:00Z"},
		{"volume", "ended_at", "volume=pv-data since=2026-02-11T12:00 until=2026-02-12T13:00", ",,,,,2026-02-13T12:00:00Z"},
		{"find", "since", "name=uid-data-node-2", "2026-02-10T12:00:00Z"},
	})
}

// TestALifeOfAClaimEndsWithItsBinding has a volume that was bound to another claim later: its changes and attachments since are of that
// claim's life. Two trackers have dated one change differently.
func TestALifeOfAClaimEndsWithItsBinding(t *testing.T) {
	c := migrated(t)
	binding := func(claim, namespace string, bound, released fact.Time) fact.Binding {
		return fact.Binding{Version: 1, Namespace: namespace, ClaimName: claim, ClaimUID: "claim-" + claim, VolumeUID: "v", BoundAt: bound, ReleasedAt: released, ReleasedNotBefore: released}
	}
	attachment := func(node string, at, gone fact.Time) fact.Attachment {
		return fact.Attachment{Version: 1, UID: node, VolumeUID: "v", Node: node, Attacher: "d", CreatedAt: at, Attached: true, AttachedAt: at, DetachedAt: gone}
	}
	change := func(at fact.Time, version string, action fact.Action, details string) fact.Change {
		return fact.Change{At: at, Kind: "PersistentVolume", UID: "v", Name: "pv-v", Action: action, Details: details, ResourceVersion: version}
	}
	a, b := claimOf("a", "fast", "v", 1), claimOf("b", "fast", "v", 1)
	a.DeletedAt, a.DeletedNotBefore, b.Namespace, b.CreatedAt = day(1, 10), day(1, 10), "lab", day(1, 12)
	v := volumeOf("v", "fast", "csi:1", "claim-b", "Bound", 20)
	v.ClaimNamespace = "lab"
	write(t, c, "east", &fact.Facts{
		Volumes: []fact.Volume{v}, Claims: []fact.Claim{a, b},
		Bindings:    []fact.Binding{binding("a", "shop", day(1, 2), day(1, 10)), binding("b", "lab", day(1, 12), 0)},
		Attachments: []fact.Attachment{attachment("node-1", day(1, 3), day(1, 9)), attachment("node-9", day(1, 12), 0)},
		Changes: []fact.Change{
			change(day(1, 5), "1", fact.Resized, "5Gi → 10Gi"), change(day(1, 6), "1", fact.Resized, "5Gi → 10Gi"),
			change(day(1, 10), "2", fact.Released, "Bound → Released"), change(day(1, 11), "3", fact.Phase, "Released → Available"),
			change(day(1, 12), "4", fact.Phase, "Available → Bound"), change(day(1, 20), "5", fact.Resized, "10Gi → 20Gi"),
			// The object itself dates both.
			change(day(1, 7), "", fact.Phase, "Bound → Bound"), change(day(1, 8), "", fact.Phase, "Bound → Bound"),
		},
	})
	run := func(report, of string, flags ...string) string { return column(t, c, report, of, flags...) }
	checkCases(t, run, []reportCase{
		{"claim", "event", "claim=shop/a", "exists,exists,bound,attached,resized,phase,phase,released"},
		{"claim", "object", "claim=shop/a since=2026-01-02T13:00 until=2026-01-04", "PersistentVolume/pv-v,PersistentVolumeClaim/shop/a,PersistentVolumeClaim/shop/a,Node/node-1"},
		{"claim", "event", "claim=lab/b", "exists,attached,bound,exists,phase,resized"},
		{"claim", "details", "claim=lab/b since=2026-01-12 until=2026-01-21", "csi fast,by d,to volume pv-v,fast,Available → Bound,10Gi → 20Gi"},
		{"volume", "event", "volume=pv-v", "exists,exists,bound,attached,resized,phase,phase,released,phase,attached,bound,exists,phase,resized"},
		{"volume", "started_at", "volume=pv-v since=2026-01-04 until=2026-01-06T18:00", "2026-01-01T12:00:00Z,2026-01-01T12:00:00Z,2026-01-02T12:00:00Z,2026-01-03T12:00:00Z,2026-01-05T12:00:00Z"},
		{"resizes", "at", "since=2026-01-01", "2026-01-20T12:00:00Z,2026-01-05T12:00:00Z"},
		{"resizes", "at", "since=2026-01-05T18:00 until=2026-01-07", ""},
		{"resizes", "at", "since=2026-01-05 until=2026-01-05T18:00", "2026-01-05T12:00:00Z"},
		{"diff", "difference", "since=2026-01-05T18:00 until=2026-01-07", ""},
		{"diff", "difference", "since=2026-01-05 until=2026-01-05T18:00", "resized"},
	})
}

// TestAppsThatAreAwayForAMomentStay has a pod replaced: its successor starts five minutes later, and the next one
// an hour later.
func TestAppsThatAreAwayForAMomentStay(t *testing.T) {
	c := migrated(t)
	minute := func(n int64) fact.Time { return day(2, 20) + fact.Time(n*60e6) }
	f := &fact.Facts{
		Volumes: []fact.Volume{volumeOf("data", "fast", "csi:1", "claim-data", "Bound", 20)},
		Claims:  []fact.Claim{claimOf("data", "fast", "data", 20)},
		Pods:    []fact.Pod{podOf("shop", "api-1", "Deployment", "api"), podOf("shop", "api-2", "Deployment", "api"), podOf("shop", "api-3", "Deployment", "api")},
		Mounts: []fact.Mount{
			endedMount(mountOf("api-1", "data", "data", "csi:1", "data", minute(0)), minute(30), minute(30), "Deleted"),
			endedMount(mountOf("api-2", "data", "data", "csi:1", "data", minute(35)), minute(60), minute(60), "Deleted"),
			mountOf("api-3", "data", "data", "csi:1", "data", minute(120)),
		},
	}
	f.Pods[1].Owner = "ann"
	write(t, c, "east", f)
	for flags, want := range map[string]string{
		"":                 "came,went,came",
		"min-absence=1m":   "came,went,came,went,came",
		"min-absence=5m":   "came,went,came,went,came",
		"min-absence=1h":   "came,went,came", // away for just as long
		"min-absence=1h1m": "came",
		"owner=ann":        "came,went", // one of the pods of that stay is hers
	} {
		if got := column(t, c, "app-changes", "change", append(strings.Fields(flags), "volume=data")...); got != want {
			t.Errorf("%s: got %s, want %s", flags, got, want)
		}
	}
}

// TestAppsWhoseTimesAreNotExact has a container that had restarted more often than its status showed when the tracker came, and a pod of a
// lost node beside one whose end was observed.
func TestAppsWhoseTimesAreNotExact(t *testing.T) {
	c := migrated(t)
	use := func(pod string, earliest, start, notBefore, end fact.Time) fact.Mount {
		m := endedMount(mountOf(pod, "data", "data", "csi:1", "data", start), notBefore, end, "")
		m.StartedNotBefore = earliest
		return m
	}
	f := &fact.Facts{
		Volumes: []fact.Volume{volumeOf("data", "fast", "csi:1", "claim-data", "Bound", 20)},
		Claims:  []fact.Claim{claimOf("data", "fast", "data", 20)},
		Pods: []fact.Pod{
			podOf("shop", "api", "Deployment", "api"), podOf("shop", "web-1", "Deployment", "web"), podOf("shop", "web-2", "Deployment", "web"),
		},
		Mounts: []fact.Mount{
			use("api", day(1, 5), day(2, 1), 0, 0),
			use("web-1", day(2, 2), day(2, 2), day(2, 10), day(2, 14)), use("web-2", day(2, 3), day(2, 3), day(2, 13), day(2, 13)),
		},
	}
	write(t, c, "east", f)
	run := func(report, of string, flags ...string) string { return column(t, c, report, of, flags...) }
	checkCases(t, run, []reportCase{
		{"app-changes", "at", "volume=pv-data", "2026-02-01T12:00:00Z,2026-02-02T12:00:00Z,2026-02-14T12:00:00Z"},
		{"app-changes", "at_not_before", "volume=pv-data", "2026-01-05T12:00:00Z,,2026-02-13T12:00:00Z"},
	})
}

// TestAppsOfTwoNamespaces has a volume whose former claim, in another namespace, was still mounted when it got the next one.
func TestAppsOfTwoNamespaces(t *testing.T) {
	c := migrated(t)
	f := &fact.Facts{
		Volumes: []fact.Volume{volumeOf("data", "fast", "csi:1", "claim-data", "Bound", 20)},
		Claims:  []fact.Claim{claimOf("data", "fast", "data", 20), claimOf("old", "fast", "data", 20)},
		Pods:    []fact.Pod{podOf("shop", "api-1", "Deployment", "api"), podOf("lab", "old", "", "")},
		Mounts: []fact.Mount{
			mountOf("api-1", "data", "data", "csi:1", "data", day(2, 5)),
			endedMount(mountOf("old", "data", "old", "csi:1", "data", day(2, 1)), day(2, 3), day(2, 10), "Deleted"),
		},
	}
	f.Claims[1].Namespace, f.Mounts[1].Namespace = "lab", "lab"
	write(t, c, "east", f)
	run := func(report, of string, flags ...string) string { return column(t, c, report, of, flags...) }
	checkCases(t, run, []reportCase{
		{"app-changes", "apps", "volume=pv-data", `["Pod/old"],["Deployment/api","Pod/old"],["Deployment/api"]`},
		{"app-changes", "apps", "volume=pv-data namespace=shop", `["Deployment/api","Pod/old"]`},
		{"app-changes", "apps", "volume=lab/old namespace=lab", `["Pod/old"],["Deployment/api"]`},
	})
}

// TestAppsThatUseAVolumeForAMoment has a job whose container starts and ends in the same second: it comes before it goes. At
// the second of these moments one workload goes and another one comes.
func TestAppsThatUseAVolumeForAMoment(t *testing.T) {
	c := migrated(t)
	f := &fact.Facts{
		Volumes: []fact.Volume{volumeOf("data", "fast", "csi:1", "claim-data", "Bound", 20)},
		Claims:  []fact.Claim{claimOf("data", "fast", "data", 20)},
		Pods: []fact.Pod{
			podOf("shop", "a", "CronJob", "a"), podOf("shop", "b", "CronJob", "a"), podOf("shop", "former", "", ""), podOf("shop", "next", "", ""),
		},
		Mounts: []fact.Mount{
			endedMount(mountOf("a", "data", "data", "csi:1", "data", day(2, 1)), day(2, 1), day(2, 1), "Completed"),
			endedMount(mountOf("b", "data", "data", "csi:1", "data", day(2, 2)), day(2, 2), day(2, 2), "Completed"),
			endedMount(mountOf("former", "data", "data", "csi:1", "data", day(1, 10)), day(2, 2), day(2, 2), "Deleted"),
			mountOf("next", "data", "data", "csi:1", "data", day(2, 2)),
		},
	}
	write(t, c, "east", f)
	run := func(report, of string, flags ...string) string { return column(t, c, report, of, flags...) }
	checkCases(t, run, []reportCase{
		{"app-changes", "change", "volume=pv-data", "came,came,went,went,came,came,went"},
		{"app-changes", "workload", "volume=pv-data", "Pod/former,CronJob/a,CronJob/a,Pod/former,CronJob/a,Pod/next,CronJob/a"},
		{"app-changes", "change", "volume=pv-data workload=CronJob/a", "came,went,came,went"},
	})
}
