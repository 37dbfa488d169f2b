package compare

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// stateFamilies are prefixes of lines of kube-state-metrics' families, of which there is one for each object.
var stateFamilies = []string{"kube_persistentvolume_info{", "kube_persistentvolumeclaim_info{", "kube_volumeattachment_info{"}

// familyRivals are kube-state-metrics, the tracker without its families, and the tracker with them.
var familyRivals = []rival{
	{name: "kube-state-metrics", watched: "four kinds", launch: stateMetrics(harness.StateKinds), whole: stateFamilies, claims: true},
	{name: "kubevoltracker", watched: "all", launch: benchTracker(), whole: []string{"kubevoltracker_volume_info{"}, claims: true},
	{
		name: "kubevoltracker", watched: "all, with families", launch: benchTracker("--metrics.kube-state-metrics=" + harness.StateKinds),
		whole: append([]string{"kubevoltracker_volume_info{"}, stateFamilies...), claims: true,
	},
}

// TestCompareFamilies measures the tracker with kube-state-metrics' families of all four kinds, beside
// kube-state-metrics with the same kinds, on COMPARE_FAMILIES volumes, claims and attachments, and half as many pods
// again, which only the tracker watches. Nothing fails on a number.
func TestCompareFamilies(t *testing.T) {
	for _, n := range sizesOf(t, "COMPARE_FAMILIES") {
		c := startBenchCluster(t)
		c.fill(t, n)
		c.attach(t, n)
		c.awaitCaches(t, n)
		var all []measurement
		for _, r := range familyRivals {
			all = append(all, r.measure(t, c, n))
		}
		printTable(t, fmt.Sprintf("%d volumes, claims and attachments, %d pods of two containers", n, n+n/2), all)
		theirs, ours := all[0], all[2]
		w := t.Output()
		fmt.Fprintln(w)
		judge(w, "RSS after GC, of kube-state-metrics'", ours.resting.rss/theirs.resting.rss, 1.0/2)
		judge(w, "RSS before GC, of kube-state-metrics'", ours.scraped.rss/theirs.scraped.rss, 1.0/2)
		judge(w, "scrape p50, of kube-state-metrics'", ours.plain50/theirs.plain50, 1.0/2)
		judge(w, "scrape gzip p50, of kube-state-metrics'", ours.gzip50/theirs.gzip50, 1.0/2)
	}
}

// claimCPU returns the processor time that a process takes for 1,000 updates of claims' labels, at 200 a second, while
// nobody scrapes. The claims are those that fill has written.
func claimCPU(t testing.TB, c *benchCluster, pid, n int) float64 {
	t.Helper()
	const updates, perSecond = 2000, 200
	before := cpuOf(t, pid)
	atRate(t, updates, perSecond, func(i int) error {
		claim := benchClaim(i % n)
		patch := fmt.Sprintf(`{"metadata":{"labels":{"example.com/updated":"%d-%d"}}}`, pid, i)
		_, err := c.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Patch(background, claim.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	})
	time.Sleep(2 * time.Second) // the last ones
	return (cpuOf(t, pid) - before).Seconds() / updates * 1000
}
