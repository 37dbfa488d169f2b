package catalog_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// TestEachEmptyDirIsAStore: two emptyDirs of a pod have the same source, and a file system that it mounts twice is one store.
func TestEachEmptyDirIsAStore(t *testing.T) {
	c := migrated(t)
	write(t, c, "east", &fact.Facts{
		VolumeSources: []fact.VolumeSource{{ID: "emptyDir:1", Kind: "emptyDir"}, {ID: "nfs:1", Kind: "nfs", Server: "nas", Path: "/a"}},
		Pods:          []fact.Pod{podOf("shop", "a", "", ""), podOf("shop", "b", "", "")},
		Mounts: []fact.Mount{
			mountOf("a", "tmp", "", "emptyDir:1", "", day(2, 1)), mountOf("a", "cache", "", "emptyDir:1", "", day(2, 1)),
			mountOf("b", "in", "", "nfs:1", "", day(2, 1)), mountOf("b", "out", "", "nfs:1", "", day(2, 1)),
		},
	})
	run := func(report, of string, flags ...string) string { return column(t, c, report, of, flags...) }
	checkCases(t, run, []reportCase{
		{"volumes-per-pod", "pod", "", "a,b"}, {"volumes-per-pod", "inline", "", "2,1"}, {"volumes-per-pod", "pod", "since=2026-01-01 limit=1", "a"},
	})
}

// TestPodsOfMostVolumes has pods that mount fewer volumes than their specs have, and so many mounts that volumes-per-pod with a limit
// begins with the pods that have most by their specs: it shows the first rows of the whole answer.
func TestPodsOfMostVolumes(t *testing.T) {
	c := migrated(t)
	facts := &fact.Facts{}
	pod := func(n, claims, inline, mountsClaims, mountsInline int) {
		name, created := fmt.Sprintf("pod-%03d", n), day(1, 2)+fact.Time(n/3)*fact.Time(time.Minute/time.Microsecond) // three at a time
		facts.Pods = append(facts.Pods, fact.Pod{Version: 1, UID: name, Namespace: "shop", Name: name, CreatedAt: created})
		for i := range mountsClaims + mountsInline {
			m := fact.Mount{
				Version: 1, Namespace: "shop", PodCreatedAt: created, PodUID: name, Container: "main", Volume: fmt.Sprint(i), MountPath: fmt.Sprint("/", i),
				ClaimVolumes: uint16(claims), InlineVolumes: uint16(inline), StartedAt: created, StartedNotBefore: created, WorkloadKind: "Pod", WorkloadName: name,
				EndedAt: created + fact.Time(time.Minute/time.Microsecond), EndedNotBefore: created + fact.Time(time.Minute/time.Microsecond), EndReason: "Completed",
			}
			if i < mountsClaims {
				m.ClaimName, m.ClaimUID, m.VolumeUID = fmt.Sprint("data-", i), fmt.Sprint("claim-", i), fmt.Sprint("volume-", i)
			} else {
				m.SourceKind, m.SourceID = "emptyDir", fmt.Sprint("emptyDir:", name, i)
			}
			facts.Mounts = append(facts.Mounts, m)
		}
	}
	for n := range 600 {
		claims, inline := n%5, 1+n%3
		pod(n, claims, inline, claims*(n%2), max(1, inline-n%2))
	}
	// Many claims, and hardly one of them mounted: each is looked at before the pods above, and few of them are shown.
	for n := 600; n < 620; n++ {
		pod(n, 9, 3, n%3, 1)
	}
	// No tracker writes that a pod has fewer volumes by its spec than it mounts: where this one is not shown, the answer began with the others.
	pod(620, 0, 0, 12, 0)
	write(t, c, "east", facts)

	flags := []string{"since=2026-01-01", "until=2026-02-01"}
	ask := func(limit int) []string {
		return strings.Split(strings.TrimSpace(report(t, c, "volumes-per-pod", catalog.CSVFormat, append(flags, fmt.Sprint("limit=", limit))...)), "\n")
	}
	all := ask(1000)
	if len(all) != 622 || !strings.Contains(all[1], "pod-620") {
		t.Fatalf("%d lines, the first is %s; want those of 621 pods", len(all), all[1])
	}
	all = slices.Delete(all, 1, 2)
	for _, limit := range []int{1, 2, 3, 4, 5, 6} {
		if got := ask(limit); !slices.Equal(got, all[:limit+1]) {
			t.Errorf("the first %d: got\n%q, want\n%q", limit, got, all[:limit+1])
		}
	}
}
