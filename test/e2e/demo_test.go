package e2e

import (
	"os"
	"os/exec"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// TestDemoWorkloadIsTracked applies the workload of the demo, and looks for each kind of use in it.
func TestDemoWorkloadIsTracked(t *testing.T) {
	t.Parallel()
	c := harness.Cluster(t)
	p := harness.StartTracker(t, c.Kubeconfig)
	harness.Eventually(t, "the company is applied", func() error { // its pods need the service accounts of its namespaces
		_, err := c.TryKubectl(t, "apply", "-f", harness.File(t, "deploy/demo/company.yaml"))
		return err
	})
	t.Cleanup(func() { c.Kubectl(t, "delete", "--wait=false", "-f", harness.File(t, "deploy/demo/company.yaml")) })
	p.ExpectRows(t, `SELECT m.namespace, p.workload_kind, p.workload_name, k.kind, m.container, m.claim_name, m.source_kind, m.mount_path, uniqExact(m.pod_uid)
		FROM mounts m JOIN pods p ON p.uid = m.pod_uid JOIN containers k ON k.pod_uid = m.pod_uid AND k.name = m.container
		WHERE m.namespace IN ('shop', 'ci', 'legacy') AND p.workload_name != 'migration' GROUP BY ALL ORDER BY ALL`,
		"ci\t\t\tmain\tbuild\trunner-scratch\tcsi\t/go\t1",
		"legacy\tStatefulSet\terp\tmain\terp\terp-data\tiscsi\t/srv/erp\t1",
		"legacy\tStatefulSet\terp\tmain\terp\terp-index\tlocal\t/srv/index\t1",
		"shop\tDeployment\tweb\tmain\tnginx\t\temptyDir\t/var/cache/nginx\t3",
		"shop\tDeployment\tweb\tmain\tnginx\tmedia\tnfs\t/usr/share/nginx/media\t3",
		"shop\tStatefulSet\tmysql\tinit\tinit\tdata-mysql-0\tcsi\t/var/lib/mysql\t1",
		"shop\tStatefulSet\tmysql\tinit\tinit\tdata-mysql-1\tcsi\t/var/lib/mysql\t1",
		"shop\tStatefulSet\tmysql\tmain\tbackup\tdata-mysql-0\tcsi\t/var/lib/mysql\t1",
		"shop\tStatefulSet\tmysql\tmain\tbackup\tdata-mysql-1\tcsi\t/var/lib/mysql\t1",
		"shop\tStatefulSet\tmysql\tmain\tmysql\tdata-mysql-0\tcsi\t/var/lib/mysql\t1",
		"shop\tStatefulSet\tmysql\tmain\tmysql\tdata-mysql-1\tcsi\t/var/lib/mysql\t1",
	)
	p.ExpectRows(t, `SELECT server, path FROM volume_sources WHERE kind = 'iscsi' AND startsWith(server, 'san.example')`, "san.example:3260\tiqn.2016-06.example:erp/7")
	p.ExpectRows(t, `SELECT ephemeral, p.name FROM claims c JOIN pods p ON p.uid = c.pod_uid WHERE c.name = 'runner-scratch'`, "true\trunner")
}

// TestDemoScriptsParse checks the syntax of the demo's scripts. To run the demo takes minutes: `make demo`.
func TestDemoScriptsParse(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"deploy/demo/demo.sh", "deploy/demo/churn.sh", "deploy/demo/configure-monitoring.sh", "deploy/fetch-libchdb.sh"} {
		script = harness.File(t, script)
		if out, err := exec.Command("bash", "-n", script).CombinedOutput(); err != nil {
			t.Errorf("%s: %s", script, out)
		}
		if info, err := os.Stat(script); err != nil || info.Mode()&0o100 == 0 {
			t.Errorf("%s cannot be run: %v", script, err)
		}
	}
}
