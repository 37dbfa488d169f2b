package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// TestStoresLeftBehind has a volume for each way in which a store is left behind, or is not.
func TestStoresLeftBehind(t *testing.T) {
	const hostile = "vol '\"\t\n\\ü"
	volume := func(uid, source, policy string, deleted fact.Time) fact.Volume {
		v := volumeOf(uid, "fast", source, "claim-"+uid, "Released", 10)
		v.ReclaimPolicy, v.DeletedAt, v.DeletedNotBefore = policy, deleted, deleted
		return v
	}
	csi := func(id, handle string) fact.VolumeSource {
		return fact.VolumeSource{Version: 1, ID: id, Kind: "csi", Driver: "d", Path: handle}
	}
	nfs := func(id, path string, more ...string) fact.VolumeSource {
		attributes := map[string]string{"path": path}
		for _, a := range more {
			attributes[a] = "true"
		}
		return fact.VolumeSource{Version: 1, ID: id, Kind: "nfs", Server: "s", Path: path, Attributes: attributes}
	}
	local := fact.VolumeSource{Version: 1, ID: "local:1", Kind: "local", Path: "/mnt"}
	east := &fact.Facts{
		VolumeSources: []fact.VolumeSource{csi("csi:left", hostile), csi("csi:deleted", "deleted"), csi("csi:here", "here"),
			csi("csi:back", "back"), csi("csi:away", "away"), csi("csi:twice", "twice"), csi("csi:tie", "tie"),
			nfs("nfs:inline", "/inline"), nfs("nfs:inline-ro", "/inline", "readOnly"), nfs("nfs:before", "/before"), local},
		Volumes: []fact.Volume{
			volume("left", "csi:left", "Retain", day(2, 10)),
			volume("deleted", "csi:deleted", "Delete", day(2, 10)),
			volume("here", "csi:here", "Retain", 0),
			volume("back-1", "csi:back", "Retain", day(2, 10)), volume("back-2", "csi:back", "Retain", 0),
			volume("away", "csi:away", "Retain", day(2, 10)),
			volume("twice-1", "csi:twice", "Retain", day(2, 10)), volume("twice-2", "csi:twice", "Retain", day(2, 20)),
			volume("tie-1", "csi:tie", "Delete", day(2, 10)), volume("tie-2", "csi:tie", "Retain", day(2, 10)),
			volume("inline", "nfs:inline", "Retain", day(2, 10)),
			volume("before", "nfs:before", "Retain", day(2, 10)),
			volume("local", "local:1", "Retain", day(2, 10)),
			volume("unknown", "nfs:unknown", "Retain", day(2, 25)),
		},
		Claims: []fact.Claim{claimOf("left", "fast", "left", 10)},
		Pods:   []fact.Pod{podOf("shop", "old", "StatefulSet", "db"), podOf("shop", "last", "StatefulSet", "db"), podOf("shop", "by-hand", "", "")},
		Mounts: []fact.Mount{
			endedMount(mountOf("old", "data", "left", "csi:left", "left", day(1, 3)), day(1, 10), day(1, 10), "Deleted"),
			endedMount(mountOf("last", "data", "left", "csi:left", "left", day(1, 10)), day(2, 1), day(2, 1), "Deleted"),
			endedMount(mountOf("by-hand", "data", "twice-2", "csi:twice", "twice-2", day(1, 10)), day(2, 1), day(2, 1), "Deleted"),
			endedMount(mountOf("last", "x", "", "nfs:inline-ro", "", day(2, 11)), day(2, 12), day(2, 12), "Deleted"),
			endedMount(mountOf("last", "y", "", "nfs:before", "", day(1, 11)), day(1, 12), day(1, 12), "Deleted"),
		},
	}
	east.Volumes[0].Name, east.Volumes[0].DeletedNotBefore = hostile, day(2, 8)
	east.Volumes[4].CreatedAt = day(2, 15)
	east.Claims[0].Name, east.Claims[0].Owner, east.Claims[0].Groups = hostile, "o'hara", []string{"g\t1"}
	// The other cluster has the handle "away" under another id, and the same local path on a node of its own.
	away := volume("west-away", "csi:other", "Retain", 0)
	away.CreatedAt = day(2, 20)
	west := &fact.Facts{
		VolumeSources: []fact.VolumeSource{csi("csi:other", "away"), local},
		Volumes:       []fact.Volume{away, volume("west-local", "local:1", "Retain", 0)},
	}
	c := migrated(t)
	write(t, c, "east", east)
	write(t, c, "west", west)
	golden(t, "left-behind.txt", report(t, c, "left-behind", catalog.TableFormat))
	for _, test := range []struct{ column, flags, want string }{
		{"persistentvolume", "", "pv-before,pv-local," + hostile + ",pv-twice-2,pv-unknown"},
		{"persistentvolume", "cluster=west", ""},
		{"persistentvolume", "namespace=shop", "pv-before,pv-local," + hostile + ",pv-twice-2,pv-unknown"}, // by the volumes themselves: most have no claim's row
		{"persistentvolume", "namespace=lab", ""},
		{"persistentvolume", "owner=o'hara", hostile},
		{"persistentvolume", "storageclass=slow", ""},
		{"persistentvolume", "limit=1", "pv-before"},
		{"persistentvolume", "at=2026-02-10T11:59", ""},
		{"persistentvolume", "at=2026-02-11", "pv-away,pv-back-1,pv-before,pv-inline,pv-local," + hostile + ","},
		{"persistentvolume", "at=2026-02-16 storageclass=fast", "pv-away,pv-before,pv-local," + hostile},
		{"last_pod", "", ",,last,by-hand,,"},
		{"last_workload", "", ",,StatefulSet/db,,,"},
		{"claim", "owner=o'hara", hostile},
		{"deleted_not_before", "owner=o'hara", "2026-02-08T12:00:00Z"},
		{"deleted_not_before", "limit=1", ""},
	} {
		want := strings.TrimSuffix(test.want, ",")
		if got := column(t, c, "left-behind", test.column, strings.Fields(test.flags)...); got != want {
			t.Errorf("%s:\n got %q\nwant %q", test.flags, got, want)
		}
	}
}

// TestStoresUnderAnotherSource has volumes that were deleted, each with a volume that was created later and names the
// same store with other fields, or another store.
func TestStoresUnderAnotherSource(t *testing.T) {
	c := migrated(t)
	type attributes = map[string]string
	source := func(kind, server, path string, a attributes) fact.VolumeSource {
		return fact.VolumeSource{Version: 1, Kind: kind, Driver: a["driver"], Server: server, Path: path, Attributes: a}
	}
	fc := func(server, lun string, more ...string) fact.VolumeSource {
		a := attributes{"targetWWNs": server}
		if lun != "" { // number 0 is left out
			a["lun"] = lun
		}
		for _, field := range more {
			a[field] = "x"
		}
		return source("fc", server, lun, a)
	}
	flex := func(option string, more ...string) fact.VolumeSource {
		a := attributes{"driver": "d"}
		if option != "" {
			a["options.disk"] = option
		}
		for _, field := range more {
			a[field] = "x"
		}
		return source("flexVolume", "", "", a)
	}
	f := &fact.Facts{Pods: []fact.Pod{podOf("shop", "a", "", "")}}
	var want []string
	for i, test := range []struct {
		former, later fact.VolumeSource
		left          bool
	}{
		{fc("5000", "", "fsType"), fc("5000", ""), false},
		{fc("5001", ""), fc("5001", "", "readOnly"), false},
		{fc("5002", "", "fsType"), fc("5002", "1", "fsType"), true},
		{source("cephfs", "mon", "", attributes{"monitors": "mon", "user": "a"}), source("cephfs", "mon", "/", attributes{"monitors": "mon", "path": "/"}), false},
		{source("cephfs", "mon-2", "", attributes{"monitors": "mon-2"}), source("cephfs", "mon-2", "/a", attributes{"monitors": "mon-2", "path": "/a"}), true},
		{flex("1", "fsType"), flex("1", "readOnly"), false},
		{flex("2"), flex("3"), true},
		{flex("", "fsType"), flex("", "readOnly"), true}, // they name no store
		{source("glusterfs", "g", "v", attributes{"path": "v"}), source("glusterfs", "g", "v", attributes{"path": "v", "endpointsNamespace": "lab"}), false},
		{source("glusterfs", "g", "w", attributes{"path": "w"}), source("glusterfs", "h", "w", attributes{"path": "w"}), true},
		{source("local", "", "/mnt/1", attributes{"path": "/mnt/1"}), source("hostPath", "", "/mnt/1", attributes{"path": "/mnt/1"}), false},
		{source("hostPath", "", "/mnt/2", attributes{"path": "/mnt/2"}), source("local", "", "/mnt/2", attributes{"path": "/mnt/2", "fsType": "ext4"}), false},
		{source("local", "", "/mnt/3", attributes{"path": "/mnt/3"}), source("hostPath", "", "/mnt/4", attributes{"path": "/mnt/4"}), true},
	} {
		former, later := fmt.Sprintf("%s:%d", test.former.Kind, i), fmt.Sprintf("%s:%d-later", test.later.Kind, i)
		test.former.ID, test.later.ID = former, later
		v, next := volumeOf(fmt.Sprintf("%02d", i), "fast", former, "", "Released", 10), volumeOf(fmt.Sprintf("%02d-later", i), "fast", later, "", "Bound", 10)
		v.ReclaimPolicy, v.DeletedAt, v.DeletedNotBefore, next.CreatedAt = "Retain", day(2, 10), day(2, 10), day(2, 15)
		f.VolumeSources, f.Volumes = append(f.VolumeSources, test.former, test.later), append(f.Volumes, v, next)
		if test.left {
			want = append(want, v.Name)
		}
	}
	// A pod names the path of a local volume.
	path := source("local", "", "/mnt/pod", attributes{"path": "/mnt/pod"})
	path.ID = "local:pod"
	v := volumeOf("pod", "fast", path.ID, "", "Released", 10)
	v.ReclaimPolicy, v.DeletedAt, v.DeletedNotBefore = "Retain", day(2, 10), day(2, 10)
	named := source("hostPath", "", "/mnt/pod", attributes{"path": "/mnt/pod", "type": "Directory"})
	named.ID = "hostPath:pod"
	f.VolumeSources, f.Volumes = append(f.VolumeSources, path, named), append(f.Volumes, v)
	f.Mounts = []fact.Mount{mountOf("a", "x", "", named.ID, "", day(2, 11))}
	write(t, c, "east", f)
	if got := column(t, c, "left-behind", "persistentvolume"); got != strings.Join(want, ",") {
		t.Errorf("got %s, want %s", got, want)
	}
}
