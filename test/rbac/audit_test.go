package rbac

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// auditPolicy records the requests of service accounts, without contents. The local cluster's own policy leaves out
// what is only read.
const auditPolicy = `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [
	{"level": "Metadata", "userGroups": ["system:serviceaccounts"]}, {"level": "None"}]}`

// auditReads has the API server record what service accounts ask for.
func auditReads(t *testing.T, c *harness.LocalCluster) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.Dir, "audit-policy.yaml"), []byte(auditPolicy), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Restart("kube-apiserver"); err != nil {
		t.Fatal(err)
	}
	c.AwaitAPI(t)
}

// used returns how often a namespace's service accounts used each right, and fails the test for each denial.
func used(t *testing.T, c *harness.LocalCluster, namespace string) map[right]int {
	t.Helper()
	file, err := os.Open(filepath.Join(c.Dir, "audit.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	count := map[right]int{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var e struct {
			Verb, RequestURI string
			User             struct{ Username string }
			ObjectRef        struct{ Resource, Subresource, APIGroup string }
			ResponseStatus   struct{ Code int }
		}
		if json.Unmarshal(lines.Bytes(), &e) != nil || !strings.HasPrefix(e.User.Username, "system:serviceaccount:"+namespace+":") {
			continue
		}
		if e.ResponseStatus.Code == 403 || e.ResponseStatus.Code == 401 {
			t.Errorf("%s was answered %d: %s %s", e.User.Username, e.ResponseStatus.Code, e.Verb, e.RequestURI)
		}
		resource := e.ObjectRef.Resource
		if e.ObjectRef.Subresource != "" {
			resource += "/" + e.ObjectRef.Subresource
		}
		count[right{e.Verb, e.ObjectRef.APIGroup, resource}]++
	}
	if lines.Err() != nil {
		t.Fatal(lines.Err())
	}
	return count
}
