package e2e

import (
	"testing"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// TestAlone runs the tests that change what all trackers of a cluster share: its API server, the rights of
// deploy/rbac.yaml. They have a control plane of their own, on which they run one after another in
// random order, while the other tests run on the shared one.
func TestAlone(t *testing.T) {
	t.Parallel()
	c := harness.OwnCluster(t)
	for name, test := range map[string]func(*testing.T, *harness.LocalCluster){
		"the tracker waits for the API server":                   waitsForTheAPIServer,
		"a list replaces events that the API server has dropped": listsWhatTheAPIServerHasForgotten,
		"kinds that may not be listed are skipped":               skipsKindsThatItMayNotList,
		"the log says why a kubelet refuses":                     logsWhyAKubeletRefuses,
	} {
		t.Run(name, func(t *testing.T) { test(t, c) })
	}
}
