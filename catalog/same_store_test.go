package catalog_test

import (
	"fmt"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// reachedFrom gives volumes a node affinity: terms of a node selector as JSON, by the UID of the volume.
func reachedFrom(volumes []fact.Volume, terms map[string]string) {
	for i := range volumes {
		if of, ok := terms[volumes[i].UID]; ok {
			volumes[i].NodeAffinity = "[" + of + "]"
		}
	}
}

// onNode is a term of a node selector that names a node.
func onNode(name string) string {
	return fmt.Sprintf(`{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":[%q]}]}`, name)
}

// sharedStores has stores that volumes of two clusters share, reuse, or only seem to.
func sharedStores() (east, west *fact.Facts) {
	source := func(id, kind, server, path string, attributes ...string) fact.VolumeSource {
		s := fact.VolumeSource{Version: 1, ID: id, Kind: kind, Server: server, Path: path, Attributes: map[string]string{"path": path}}
		for _, a := range attributes {
			s.Attributes[a] = "true"
		}
		return s
	}
	handle := fact.VolumeSource{Version: 1, ID: "csi:1", Kind: "csi", Driver: "d", Path: "vol-1", Attributes: map[string]string{"volumeHandle": "vol-1"}}
	pod := func(name, node string) fact.Pod {
		p := podOf("shop", name, "Deployment", name)
		p.Node = node
		return p
	}
	use := func(pod, name, source string, from, to fact.Time) fact.Mount {
		m := mountOf(pod, name, name, source, name, from)
		if to != 0 {
			m = endedMount(m, to, to, "Completed")
		}
		return m
	}
	inline := func(pod, source string) fact.Mount { return mountOf(pod, source, "", source, "", day(2, 1)) }
	east = &fact.Facts{
		VolumeSources: []fact.VolumeSource{
			source("nfs:1", "nfs", "filer", "/data"), source("nfs:2", "nfs", "filer", "/data", "readOnly"),
			source("nfs:3", "nfs", "filer", "/old"), source("nfs:4", "nfs", "other", "/data"), source("nfs:5", "nfs", "filer", "/inline"),
			source("iscsi:1", "iscsi", "portal", "iqn.1/0"), source("iscsi:2", "iscsi", "portal", "iqn.1/1"), source("azureFile:1", "azureFile", "", "share"),
			source("local:1", "local", "", "/mnt"), source("hostPath:1", "hostPath", "", "/srv"), source("hostPath:2", "hostPath", "", "/mnt"),
			source("emptyDir:1", "emptyDir", "", ""), {Version: 1, ID: "csi:own", Kind: "csi", Driver: "d"}, handle,
		},
		Pods:     []fact.Pod{pod("a", "node-1"), pod("b", "node-2"), pod("c", "node-1")},
		Coverage: []fact.Coverage{{Version: 1, Instance: "a", Kind: fact.Pods, StartedAt: day(1, 1), SeenAt: day(2, 20)}},
		Mounts: []fact.Mount{
			// a and b for 5 days, then b and c for 5 more.
			use("a", "rw", "nfs:1", day(2, 1), day(2, 10)), use("b", "ro", "nfs:2", day(2, 5), 0), use("c", "rw", "nfs:1", day(2, 15), 0),
			use("a", "old-1", "nfs:3", day(1, 2), day(1, 5)), use("b", "old-2", "nfs:3", day(2, 2), 0),
			// One ended when the other began, as far as is certain.
			use("a", "turn-1", "iscsi:1", day(2, 1), day(2, 4)), use("b", "turn-2", "iscsi:1", day(2, 3), 0),
			use("a", "srv-1", "hostPath:1", day(2, 1), 0), use("b", "srv-2", "hostPath:1", day(2, 1), 0), use("c", "srv-3", "hostPath:1", day(2, 2), 0),
			inline("a", "nfs:5"), inline("b", "emptyDir:1"), inline("c", "emptyDir:1"), inline("a", "csi:own"), inline("b", "csi:own"),
			inline("c", "hostPath:2"), inline("b", "hostPath:1"), use("a", "named", "nfs:5", day(2, 10), 0),
		},
	}
	east.Mounts[5].EndedNotBefore = day(2, 3)
	for uid, source := range map[string]string{
		"rw": "nfs:1", "ro": "nfs:2", "other": "nfs:4", "old-1": "nfs:3", "old-2": "nfs:3", "turn-1": "iscsi:1", "turn-2": "iscsi:1", "lun": "iscsi:2",
		"azure-1": "azureFile:1", "azure-2": "azureFile:1", "local-1": "local:1", "local-2": "local:1", "local-3": "local:1", "zone": "local:1",
		"srv-1": "hostPath:1", "srv-2": "hostPath:1", "srv-3": "hostPath:1", "named": "nfs:5", "handle": "csi:1", "unknown-1": "nfs:none", "unknown-2": "nfs:none",
	} {
		east.Volumes = append(east.Volumes, volumeOf(uid, "fast", source, "claim-"+uid, "Bound", 1))
		claim := claimOf(uid, "fast", uid, 1)
		claim.Owner = "owner-" + uid
		east.Claims = append(east.Claims, claim)
	}
	reachedFrom(east.Volumes, map[string]string{
		"local-1": onNode("node-1"), "local-2": onNode("node-2"), "local-3": onNode("node-1"),
		"zone": onNode("node-1") + `,{"matchExpressions":[{"key":"zone","operator":"In","values":["z"]}]}`,
	})
	for i := range east.Volumes {
		switch v := &east.Volumes[i]; v.UID {
		case "old-1":
			v.DeletedNotBefore, v.DeletedAt = day(1, 20), day(2, 2)
		case "old-2":
			v.CreatedAt = day(2, 1) // before the latest that the other can have gone
		}
	}
	west = &fact.Facts{
		VolumeSources: []fact.VolumeSource{source("nfs:1", "nfs", "filer", "/data"), handle, source("local:1", "local", "", "/mnt"), source("nfs:6", "nfs", "filer", "/old")},
		Volumes: []fact.Volume{
			volumeOf("data", "slow", "nfs:1", "claim-data", "Bound", 1), volumeOf("west", "slow", "csi:1", "", "Available", 1), volumeOf("local-1", "slow", "local:1", "", "Available", 1),
		},
		Claims: []fact.Claim{claimOf("data", "slow", "data", 1)},
		Pods:   []fact.Pod{pod("d", "node-1")},
		Mounts: []fact.Mount{use("d", "data", "nfs:1", day(2, 8), day(2, 12))},
	}
	west.Volumes[1].ClaimNamespace, west.Volumes[1].ClaimName = "lab", "none" // reserved for a claim that never came
	reachedFrom(west.Volumes, map[string]string{"local-1": onNode("node-1")})
	return east, west
}

func TestVolumesOnTheSameStore(t *testing.T) {
	c := migrated(t)
	east, west := sharedStores()
	write(t, c, "east", east)
	write(t, c, "west", west)
	golden(t, "same-store.txt", report(t, c, "same-store", catalog.TableFormat))
	run := func(report, of string, flags ...string) string { return column(t, c, report, of, flags...) }
	checkCases(t, run, []reportCase{
		{"same-store", "state", "owner=owner-old-1", "reused"},
		{"same-store", "others", "owner=owner-old-2", `["pv-old-1"]`},
		// Neither another server, LUN or node is the same store, nor another cluster's node of the same name.
		{"same-store", "persistentvolume", "owner=owner-other", ""},
		{"same-store", "persistentvolume", "owner=owner-lun", ""},
		{"same-store", "persistentvolume", "owner=owner-local-2", ""},
		{"same-store", "persistentvolume", "owner=owner-zone", ""}, // it names no one node, and is not mounted
		{"same-store", "persistentvolume", "owner=owner-unknown-1", ""},
		{"same-store", "persistentvolume", "cluster=west", "pv-data,pv-west"},
		{"same-store", "claim", "cluster=west", "data,"},
		{"same-store", "namespace", "cluster=west", "shop,"},
		{"same-store", "state", "cluster=west", "presumed shared,presumed shared"},
		{"same-store", "others", "cluster=west storageclass=slow limit=1", `["east/pv-ro","east/pv-rw"]`},
		{"same-store", "together_seconds", "owner=owner-rw", "864000"},                        // 10 days
		{"same-store", "together_seconds", "owner=owner-rw until=2026-02-09T12:00", "345600"}, // 4 of them
		{"same-store", "together_seconds", "owner=owner-ro since=2026-02-16T12:00", "345600"}, // until the last moment watched
		{"same-store", "pods_together", "owner=owner-rw until=2026-02-09T12:00", `["shop/a"]`},
		{"same-store", "pods_together", "owner=owner-turn-1", "[]"},
		{"same-store", "persistentvolume", "owner=owner-old-2 since=2026-02-03", ""}, // the other was gone
		{"same-store", "node", "owner=owner-srv-2", "node-2"},
		{"same-store", "persistentvolume", "namespace=shop storageclass=slow", "pv-data"},
		{"same-store", "persistentvolume", "namespace=lab", ""},
		{"same-store", "persistentvolume", "group=nobody", ""},
	})
}

// A store that pods of two clusters name themselves is shared, and one that pods of one cluster name is theirs.
func TestStoresThatPodsName(t *testing.T) {
	c := migrated(t)
	facts := func(more ...string) *fact.Facts {
		f := &fact.Facts{Pods: []fact.Pod{podOf("shop", "a", "", ""), podOf("shop", "b", "", "")}}
		for _, id := range append(more, "hostPath:1") {
			f.VolumeSources = append(f.VolumeSources, fact.VolumeSource{Version: 1, ID: id, Kind: id[:len(id)-2], Server: "s", Path: "/" + id})
			f.Mounts = append(f.Mounts, mountOf("a", id, "", id, "", day(2, 1)), mountOf("b", id, "", id, "", day(2, 1)))
		}
		return f
	}
	write(t, c, "east", facts("nfs:1", "nfs:2"))
	write(t, c, "west", facts("nfs:2"))
	run := func(report, of string, flags ...string) string { return column(t, c, report, of, flags...) }
	checkCases(t, run, []reportCase{
		{"same-store", "state", "", "presumed shared,presumed shared"},
		{"same-store", "backend", "", "s:/nfs:2,s:/nfs:2"},
		{"same-store", "others", "cluster=east", `["west/pods in shop"]`},
	})
}

// TestPodsThatLeaveAStoreAndComeBack has pods that name a store themselves, and a volume on it that came and went while they did not use it:
// in a pause of a month, and of six days.
func TestPodsThatLeaveAStoreAndComeBack(t *testing.T) {
	c := migrated(t)
	for cluster, again := range map[string]fact.Time{"east": day(2, 2), "west": day(1, 9)} {
		v := volumeOf("data", "fast", "nfs:1", "", "Available", 1)
		v.CreatedAt, v.DeletedAt, v.DeletedNotBefore = day(1, 4), day(1, 8), day(1, 8)
		use := func(pod string, from, to fact.Time) fact.Mount {
			return endedMount(mountOf(pod, "store", "", "nfs:2", "", from), to, to, "Completed")
		}
		write(t, c, cluster, &fact.Facts{
			VolumeSources: []fact.VolumeSource{
				{Version: 1, ID: "nfs:1", Kind: "nfs", Server: cluster, Path: "/data"}, {Version: 1, ID: "nfs:2", Kind: "nfs", Server: cluster, Path: "/data"},
			},
			Volumes: []fact.Volume{v},
			Pods:    []fact.Pod{podOf("shop", "a", "", ""), podOf("shop", "b", "", ""), podOf("shop", "c", "", "")},
			Mounts:  []fact.Mount{use("a", day(1, 1), day(1, 2)), use("b", day(1, 2), day(1, 3)), use("c", again, again+1e6)},
		})
	}
	run := func(report, of string, flags ...string) string { return column(t, c, report, of, flags...) }
	checkCases(t, run, []reportCase{
		{"same-store", "state", "cluster=east", "reused,reused"},
		{"same-store", "others", "cluster=east", `["pv-data"],["pods in shop"]`},
		{"same-store", "state", "cluster=west", "shared,shared"},
		{"same-store", "together_seconds", "cluster=west", "0,0"},
	})
}

// TestPairsThatShareAStoreInTurn has volumes of which two share a store in January, and two others in February.
func TestPairsThatShareAStoreInTurn(t *testing.T) {
	c := migrated(t)
	facts := map[string]*fact.Facts{"east": {Pods: []fact.Pod{podOf("shop", "a", "", "")}}, "west": {Pods: []fact.Pod{podOf("shop", "a", "", "")}}}
	for _, f := range facts {
		for _, id := range []string{"nfs:1", "nfs:2", "nfs:3"} {
			f.VolumeSources = append(f.VolumeSources, fact.VolumeSource{Version: 1, ID: id, Kind: "nfs", Server: "filer", Path: id})
		}
	}
	for _, v := range []struct {
		cluster, name, source          string
		created, deleted, began, ended fact.Time
	}{
		{"east", "a", "nfs:1", day(1, 1), day(1, 31), day(1, 2), day(1, 10)}, {"east", "b", "nfs:1", day(1, 1), day(1, 31), day(1, 2), day(1, 10)},
		{"east", "c", "nfs:1", day(2, 2), 0, day(2, 3), day(2, 5)}, {"east", "d", "nfs:1", day(2, 2), 0, day(2, 3), day(2, 5)},
		{"east", "far", "nfs:2", day(1, 1), day(1, 31), day(1, 2), day(1, 10)}, {"west", "away", "nfs:2", day(1, 1), day(1, 31), day(1, 2), day(1, 10)},
		{"east", "near-1", "nfs:2", day(2, 2), 0, day(2, 3), day(2, 5)}, {"east", "near-2", "nfs:2", day(2, 2), 0, day(2, 3), day(2, 5)},
		// Deleted while it was used, and another one came before the use ended.
		{"east", "kept", "nfs:3", day(1, 1), day(1, 20), day(1, 2), day(2, 5)}, {"east", "early", "nfs:3", day(2, 1), 0, day(2, 3), day(2, 8)},
		{"east", "late", "nfs:3", day(2, 6), 0, day(2, 7), 0},
	} {
		f, volume := facts[v.cluster], volumeOf(v.name, "fast", v.source, "claim-"+v.name, "Bound", 1)
		volume.CreatedAt, volume.DeletedAt, volume.DeletedNotBefore = v.created, v.deleted, v.deleted
		m := mountOf("a", v.name, v.name, v.source, v.name, v.began)
		if v.ended != 0 {
			m = endedMount(m, v.ended, v.ended, "Completed")
		}
		claim := claimOf(v.name, "fast", v.name, 1)
		claim.Owner = v.name
		f.Volumes, f.Claims, f.Mounts = append(f.Volumes, volume), append(f.Claims, claim), append(f.Mounts, m)
	}
	write(t, c, "east", facts["east"])
	write(t, c, "west", facts["west"])
	run := func(report, of string, flags ...string) string { return column(t, c, report, of, flags...) }
	var cases []reportCase
	for owner, want := range map[string]struct{ state, others string }{
		"a": {"shared", `["pv-b"]`}, "b": {"shared", `["pv-a"]`}, "c": {"shared", `["pv-d"]`}, "d": {"shared", `["pv-c"]`},
		"far": {"presumed shared", `["west/pv-away"]`}, "away": {"presumed shared", `["east/pv-far"]`},
		"near-1": {"shared", `["pv-near-2"]`}, "near-2": {"shared", `["pv-near-1"]`},
		"kept": {"shared", `["pv-early"]`}, "early": {"shared", `["pv-kept","pv-late"]`}, "late": {"shared", `["pv-early"]`},
	} {
		cases = append(cases, reportCase{"same-store", "state", "owner=" + owner, want.state}, reportCase{"same-store", "others", "owner=" + owner, want.others})
	}
	checkCases(t, run, cases)
}
