package rbac

import (
	"fmt"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// familiesWithout runs the tracker with kube-state-metrics' families of all four kinds, without the rights to one kind. It
// serves the families of the other kinds and is ready, at its first start and after a restart. Once the rights are granted,
// it serves all.
func familiesWithout(t *testing.T, c *harness.LocalCluster, g *grants, resource, absent string) {
	less := g.without(func(r right) bool { return r.resource == resource })
	less.apply(t, c)
	missing := right{"watch", "storage.k8s.io", resource}
	flags := append(allOn(g), "--data-dir="+t.TempDir(), familiesFlag)
	p := harness.StartTracker(t, g.kubeconfig(t, c), flags...)
	awaitFamilies(t, p, absent)
	awaitLivingOn(t, p, missing)
	p.Stop(t)
	p = harness.StartTracker(t, g.kubeconfig(t, c), flags...)
	awaitFamilies(t, p, absent)
	awaitLivingOn(t, p, missing)
	g.apply(t, c)
	awaitFamilies(t, p, "")
	p.Stop(t)
	less.apply(t, c)
	p = harness.StartTracker(t, g.kubeconfig(t, c), flags...)
	awaitFamilies(t, p, absent)
	awaitLivingOn(t, p, missing)
	g.apply(t, c)
	awaitFamilies(t, p, "")
}

// resumedWithoutListing restarts the tracker without the right to list attachments, on an API server that does not stream
// lists. Its watch resumes, and the list for the families is refused.
func resumedWithoutListing(t *testing.T, c *harness.LocalCluster, g *grants) {
	if err := c.Restart("kube-apiserver", "--feature-gates=WatchList=false"); err != nil {
		t.Fatal(err)
	}
	c.AwaitAPI(t)
	g.apply(t, c)
	flags := append(allOn(g), "--data-dir="+t.TempDir(), familiesFlag)
	p := harness.StartTracker(t, g.kubeconfig(t, c), flags...)
	awaitFamilies(t, p, "")
	p.ExpectReady(t)
	p.Stop(t)
	missing := right{"list", "storage.k8s.io", "volumeattachments"}
	g.without(func(r right) bool { return r == missing }).apply(t, c)
	p = harness.StartTracker(t, g.kubeconfig(t, c), flags...)
	awaitFamilies(t, p, "kube_volumeattachment_info")
	awaitLivingOn(t, p, missing)
	g.apply(t, c)
	awaitFamilies(t, p, "")
}

const familiesFlag = "--metrics.kube-state-metrics=" + harness.StateKinds

// awaitFamilies waits until the tracker serves a family of each kind, but not the absent one.
func awaitFamilies(t *testing.T, p *harness.Tracker, absent string) {
	t.Helper()
	harness.Eventually(t, "families of kube-state-metrics without "+absent, func() error {
		m := p.Metrics(t)
		for _, family := range []string{"kube_persistentvolume_info", "kube_persistentvolumeclaim_info", "kube_storageclass_info", "kube_volumeattachment_info"} {
			if has(m, family+"{") != (family != absent) {
				return fmt.Errorf("%s: served is %t", family, family == absent)
			}
		}
		return nil
	})
}
