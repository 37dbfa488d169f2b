package clients

import (
	"os"
	"os/exec"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// TestTheNodeClient asks by ClickHouse's own client for JavaScript, which make fetches by npm.
func TestTheNodeClient(t *testing.T) {
	engine := harness.StartClickHouse(t)
	node := exec.Command("node", "node.mjs", "http://"+engine.Address, catalogtest.Password)
	node.Env = append(os.Environ(), "CLIENTS="+harness.File(t, ".cache/clients"))
	out, err := node.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
