package catalog_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// nodeVersion is the first version of a node that was created at a moment. Its labels, KEY=VALUE, are beside that of its host name.
func nodeVersion(uid, name string, created fact.Time, labels ...string) fact.Object {
	all := map[string]string{"kubernetes.io/hostname": name}
	for _, l := range labels {
		key, value, _ := strings.Cut(l, "=")
		all[key] = value
	}
	text, _ := json.Marshal(all)
	at := time.UnixMicro(int64(created)).UTC().Format(time.RFC3339)
	return fact.Object{Kind: fact.Nodes, UID: uid, Name: name, ResourceVersion: fmt.Sprint(created), ObservedAt: created,
		Object: fmt.Sprintf(`{"metadata":{"name":%q,"creationTimestamp":%q,"labels":%s}}`, name, at, text)}
}

// relabelled is a later version of a node.
func relabelled(node fact.Object, at fact.Time, from, to string) fact.Object {
	node.ObservedAt, node.ResourceVersion, node.Object = at, fmt.Sprint(at), strings.ReplaceAll(node.Object, from, to)
	return node
}

// term is a term of a node selector of requirements KEY OPERATOR VALUE,VALUE…
func term(requirements ...string) string {
	var list []string
	for _, r := range requirements {
		part := strings.SplitN(r, " ", 3)
		values := []string{}
		if len(part) == 3 {
			values = strings.Split(part[2], ",")
		}
		text, _ := json.Marshal(map[string]any{"key": part[0], "operator": part[1], "values": values})
		list = append(list, string(text))
	}
	return `{"matchExpressions":[` + strings.Join(list, ",") + `]}`
}

// strandedVolumes has a volume for each way in which nodes meet an affinity, or do not.
func strandedVolumes() *fact.Facts {
	gone := func(uid, name string, at fact.Time) fact.Change {
		return fact.Change{At: at, Kind: "Node", UID: uid, Name: name, Action: fact.Deleted}
	}
	moved := nodeVersion("n-moved", "moved", day(1, 1), "zone=old")
	f := &fact.Facts{
		Objects: []fact.Object{
			nodeVersion("n-1", "node-1", day(1, 1), "zone=a", "disks=4"),
			nodeVersion("n-gone", "gone", day(1, 1), "zone=gone", "rack=9"), nodeVersion("n-gone-2", "gone-2", day(1, 1), "zone=gone"),
			nodeVersion("n-again-1", "again", day(1, 1), "token=***"), nodeVersion("n-again-2", "again", day(2, 10), "token=***"),
			nodeVersion("n-unseen-1", "unseen", day(1, 1)), nodeVersion("n-unseen-2", "unseen", day(2, 12)),
			nodeVersion("n-beta", "beta", day(1, 1), "topology.kubernetes.io/zone=b"),
			nodeVersion("n-back", "back", day(1, 1)), relabelled(nodeVersion("n-back", "back", day(1, 1)), day(2, 20), "x", "x"),
			moved, relabelled(moved, day(2, 15), "old", "new"),
		},
		Changes: []fact.Change{
			gone("n-gone", "gone", day(2, 5)), gone("n-gone-2", "gone-2", day(2, 7)), gone("n-again-1", "again", day(2, 9)),
			gone("n-back", "back", day(2, 19)), // nobody might list nodes then
		},
	}
	affinities := map[string]string{
		"here": onNode("node-1"), "gone": onNode("gone"), "never": onNode("never"), "again": onNode("again"), "unseen": onNode("unseen"), "used": onNode("again"), "using": onNode("again"),
		"young": onNode("again"), "back": onNode("back"), "early": onNode("gone"),
		"field":      `{"matchFields":[{"key":"metadata.name","operator":"In","values":["node-1"]}]}`,
		"field-gone": `{"matchFields":[{"key":"metadata.name","operator":"In","values":["gone"]}]}`,
		"zone":       term("zone In a,gone"), "zone-gone": term("zone In gone"), "either": onNode("gone") + "," + onNode("node-1"), "both": term("zone In a", "rack In 9"),
		"moved": term("zone In old"), "not-in": term("zone NotIn a,gone,new", "kubernetes.io/hostname In node-1"), "not-in-fits": term("zone NotIn b", "kubernetes.io/hostname In node-1"),
		"exists": term("rack Exists"), "exists-fits": term("disks Exists"), "absent": term("kubernetes.io/hostname DoesNotExist"), "absent-fits": term("rack DoesNotExist"),
		"gt": term("disks Gt 4"), "gt-fits": term("disks Gt 3"), "lt": term("disks Lt 4"), "lt-fits": term("disks Lt 5"), "gt-text": term("zone Gt 1"),
		"masked": term("token NotIn ***", "kubernetes.io/hostname Exists"), "beta": term("failure-domain.beta.kubernetes.io/zone In b"), "unknown-operator": term("zone Near x"),
	}
	for uid := range affinities {
		f.Volumes = append(f.Volumes, volumeOf(uid, "local", "local:1", "claim-"+uid, "Bound", 1))
		claim := claimOf(uid, "local", uid, 1)
		claim.Owner = "owner-" + uid
		f.Claims = append(f.Claims, claim)
	}
	f.Volumes = append(f.Volumes, volumeOf("anywhere", "", "nfs:1", "", "Available", 1), volumeOf("deleted", "", "local:1", "", "Available", 1))
	f.Volumes[len(f.Volumes)-1].DeletedAt = day(2, 1)
	affinities["deleted"] = onNode("never")
	reserved := volumeOf("reserved", "kept", "local:1", "", "Available", 1) // for a claim that never came
	reserved.ClaimNamespace, reserved.ClaimName = "shop", "none"
	f.Volumes, affinities["reserved"] = append(f.Volumes, reserved), onNode("gone")
	reachedFrom(f.Volumes, affinities)
	for i := range f.Volumes {
		switch v := &f.Volumes[i]; v.UID {
		case "young": // made on the node that has the name now
			v.CreatedAt = day(2, 11)
		case "early": // made when its node was gone
			v.CreatedAt = day(2, 6)
		}
	}
	f.Pods = []fact.Pod{podOf("shop", "db-0", "StatefulSet", "db")}
	f.Mounts = []fact.Mount{
		endedMount(mountOf("db-0", "gone", "gone", "local:1", "gone", day(1, 3)), day(2, 4), day(2, 4), "Deleted"),
		endedMount(mountOf("db-0", "again", "again", "local:1", "again", day(1, 3)), day(2, 9), day(2, 9), "Deleted"),
		endedMount(mountOf("db-0", "used", "used", "local:1", "used", day(2, 11)), day(2, 12), day(2, 12), "Deleted"),
		mountOf("db-0", "using", "using", "local:1", "using", day(2, 11)),
	}
	for _, kind := range []fact.Kind{fact.Nodes, fact.Volumes} {
		f.Coverage = append(f.Coverage, fact.Coverage{Version: 1, Instance: "a", Kind: kind, StartedAt: day(1, 1), SeenAt: day(3, 1)})
	}
	return f
}

func TestStrandedVolumes(t *testing.T) {
	c := migrated(t)
	write(t, c, "east", strandedVolumes())
	// Of the second cluster, nodes were watched until somebody took the right away; of the third, never.
	late := strandedVolumes()
	late.Coverage[0].SeenAt = day(2, 28)
	write(t, c, "late", late)
	blind := strandedVolumes()
	blind.Coverage, blind.Objects = blind.Coverage[1:], nil
	write(t, c, "blind", blind)
	golden(t, "stranded.txt", report(t, c, "stranded", catalog.TableFormat))
	run := func(report, of string, flags ...string) string { return column(t, c, report, of, flags...) }
	checkCases(t, run, []reportCase{
		{"stranded", "persistentvolume", "cluster=late", ""},
		{"stranded", "persistentvolume", "cluster=blind", ""},
		{"stranded", "reason", "owner=owner-again", "presumed: another node has the name"},
		{"stranded", "stranded_since", "owner=owner-again", "2026-02-09T12:00:00Z"},
		{"stranded", "stranded_since", "owner=owner-unseen", "2026-02-12T12:00:00Z"}, // its successor came
		{"stranded", "stranded_since", "owner=owner-early", "2026-02-06T12:00:00Z"},
		{"stranded", "last_workload", "owner=owner-gone", "StatefulSet/db"},
		{"stranded", "persistentvolume", "owner=owner-gone limit=1 namespace=shop storageclass=local", "pv-gone"},
		{"stranded", "persistentvolume", "storageclass=kept", "pv-reserved"},
		{"stranded", "namespace", "storageclass=kept", ""},
		{"stranded", "claim", "storageclass=kept", ""},
		{"stranded", "persistentvolume", "storageclass=kept namespace=shop", ""},
		{"stranded", "persistentvolume", "namespace=lab", ""},
		{"stranded", "persistentvolume", "group=nobody", ""},
		{"stranded", "persistentvolume", "storageclass=fast", ""},
	})
}
