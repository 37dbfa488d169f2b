package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// TestReportsFindTheNamespacesOfAnOwner has owners with few namespaces, which are sent along as parameters, and with too many for
// that, in clusters with a hostile and a harmless name. Some pods have an owner, others only their claims.
func TestReportsFindTheNamespacesOfAnOwner(t *testing.T) {
	c := migrated(t)
	const hostile = "o'br\\ow\tn]) ('x"
	for cluster, many := range map[string]int{hostile: 3, "east": 70} {
		f := &fact.Facts{Coverage: []fact.Coverage{{Version: 1, Instance: "a", Kind: fact.Pods, StartedAt: day(1, 1), SeenAt: day(3, 1)}}}
		for i := range many {
			for _, owner := range []string{"dana", "erin", "pods-of-finn"} {
				addOwned(f, fmt.Sprintf("ns-%d", i), owner, i%2 == 0 || owner == "pods-of-finn")
			}
		}
		write(t, c, cluster, f)
	}
	for _, test := range []struct {
		report, flags string
		want          int
	}{
		{"mounts", "owner=dana", 73},
		{"mounts", "group=friends of dana", 73},
		{"mounts", "owner=erin", 73},
		{"mounts", "owner=pods-of-finn", 73},
		{"mounts", "owner=dana,group=friends of erin", 0},
		{"mounts", "owner=nobody", 0},
		{"mounts", "owner=dana,cluster=east", 70},
		{"mounts", "owner=dana,cluster=" + hostile, 3},
		{"mounts", "owner=dana,namespace=ns-2", 2},
		{"history", "group=friends of erin,since=2026-01-01", 73},
		{"bindings", "owner=erin,since=2026-01-01", 146},
		{"idle", "owner=dana,cluster=" + hostile + ",at=2026-02-01", 3},
		{"idle", "owner=dana,at=2026-02-01", 73},
		{"idle", "namespace=ns-1,at=2026-02-01", 6},
		{"at", "owner=dana,at=2026-02-01", 146},
	} {
		result, err := c.RunReport(t.Context(), test.report, flagsOf(strings.Split(test.flags, ",")))
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for result.Next() {
			got++
		}
		if result.Close(); result.Err() != nil || got != test.want {
			t.Errorf("%s %s: got %d rows, %v; want %d", test.report, test.flags, got, result.Err(), test.want)
		}
	}
}

// addOwned adds two claims of an owner: a pod uses one of them, and nobody the other one. The owner is that of the pod, or else that
// of its claim.
func addOwned(f *fact.Facts, namespace, owner string, ofPod bool) {
	groups := []string{"friends of " + owner}
	for _, name := range []string{"used", "idle"} {
		key := namespace + "-" + owner + "-" + name
		claim, volume := claimOf(key, "fast", key, 1), volumeOf(key, "fast", "csi:"+key, "claim-"+key, "Bound", 1)
		claim.Namespace, claim.Owner, claim.Groups, volume.ClaimNamespace = namespace, owner, groups, namespace
		f.Claims, f.Volumes = append(f.Claims, claim), append(f.Volumes, volume)
		f.Bindings = append(f.Bindings, fact.Binding{Version: 1, ClaimUID: claim.UID, VolumeUID: key, BoundAt: day(1, 2)})
	}
	used := namespace + "-" + owner + "-used"
	pod, mount := podOf(namespace, used, "", ""), mountOf(used, "data", used, "csi:"+used, used, day(1, 3))
	mount.Namespace = namespace
	if ofPod {
		pod.Owner, pod.Groups = owner, groups
	}
	f.Pods, f.Mounts = append(f.Pods, pod), append(f.Mounts, mount)
}
