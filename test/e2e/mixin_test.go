package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// stateRules are the kubernetes-mixin's storage alerts, and the alert in kube-state-metrics' documentation, with the series
// that each selects. The thresholds of the alerts on full volumes are raised, so that any volume reaches them, and what they
// predict is bounded by space and not by zero.
var stateRules = []struct {
	name, expr string
	selects    []string
	absent     string // series of this matcher do not make the alert fire
}{
	{
		"KubePersistentVolumeErrors", `kube_persistentvolume_status_phase{phase=~"Failed|Pending",job="kube-state-metrics"} > 0`,
		[]string{`kube_persistentvolume_status_phase{phase="Failed",job="kube-state-metrics"}`, `kube_persistentvolume_status_phase{phase="Pending",job="kube-state-metrics"}`},
		`persistentvolume="odd-nfs"`,
	},
	{
		"KubePersistentVolumeFillingUp", fillingUp("available_bytes", "capacity_bytes", "used_bytes"),
		append(excepted, stats("available_bytes"), stats("capacity_bytes"), stats("used_bytes")), exceptions,
	},
	{
		"KubePersistentVolumeInodesFillingUp", fillingUp("inodes_free", "inodes", "inodes_used"),
		append(excepted, stats("inodes_free"), stats("inodes"), stats("inodes_used")), exceptions,
	},
	{
		"PVBlockedInTerminatingState", `kube_persistentvolume_deletion_timestamp * on(persistentvolume) group_left() (kube_persistentvolume_status_phase{phase="Bound"} == 1) > 0`,
		[]string{`kube_persistentvolume_deletion_timestamp`, `kube_persistentvolume_status_phase{phase="Bound"}`},
		`persistentvolume="odd-flex"`,
	},
}

// excepted are the series of the claims that the alerts on full volumes leave out.
var excepted = []string{`kube_persistentvolumeclaim_access_mode{access_mode="ReadOnlyMany"}`, `kube_persistentvolumeclaim_labels{label_excluded_from_alerts="true"}`}

const exceptions = `persistentvolumeclaim="excluded"`

func stats(name string) string { return "kubelet_volume_stats_" + name + `{job="kubelet"}` }

// fillingUp is the mixin's alert with its prediction, which the alert of severity critical does not have.
func fillingUp(free, size, used string) string {
	return fmt.Sprintf(`(%[1]s / %[2]s) < 1.01 and %[3]s > 0 and predict_linear(%[4]s[6h], 4 * 24 * 3600) < Inf
		unless on(cluster, namespace, persistentvolumeclaim) kube_persistentvolumeclaim_access_mode{ access_mode="ReadOnlyMany"} == 1
		unless on(cluster, namespace, persistentvolumeclaim) kube_persistentvolumeclaim_labels{label_excluded_from_alerts="true"} == 1`,
		stats(free), stats(size), stats(used), stats(free))
}

// mixinQueries are those of the mixin's dashboard of persistent volumes, for one claim; and of its variables.
func mixinQueries(namespace, claim string) []string {
	one := func(name string) string {
		return fmt.Sprintf(`topk(1, kubelet_volume_stats_%s{cluster="test", job="kubelet", namespace=%q, persistentvolumeclaim=%q})`, name, namespace, claim)
	}
	sum := func(name string) string { return "sum without(instance, node) (" + one(name) + ")" }
	return []string{
		`kubelet_volume_stats_capacity_bytes{cluster="test", job="kubelet"}`,
		sum("capacity_bytes") + " - " + sum("available_bytes"), sum("available_bytes"),
		fmt.Sprintf("max without(instance,node) ((%[1]s - %[2]s) / %[1]s * 100)", one("capacity_bytes"), one("available_bytes")),
		sum("inodes_used"), sum("inodes") + " - " + sum("inodes_used"),
		fmt.Sprintf("max without(instance,node) (%s / %s * 100)", one("inodes_used"), one("inodes")),
	}
}

// TestMixinWorksOnTheTrackerAlone has a real Prometheus scrape a tracker and nothing else, in the job kube-state-metrics as
// the mixin's selector has it, with the recording rules for the kubelets' metrics. No series that the mixin's storage alerts
// select may be missing, the alerts fire, and the queries of its dashboard have a result.
func TestMixinWorksOnTheTrackerAlone(t *testing.T) {
	t.Parallel()
	c := harness.OwnCluster(t)
	o := newOddObjects(t, c)
	o.create(t)
	_, bound := c.AwaitBound(t, o.ns, "doomed")
	o.patchVolume(t, bound.Name, `{"metadata":{"finalizers":["odd.example/wait"]}}`)
	c.Kubectl(t, "delete", "pv", bound.Name, "--wait=false")
	// Released, with a policy that needs a plugin that does not exist: it fails.
	o.patchVolume(t, "odd-rbd", `{"spec":{"persistentVolumeReclaimPolicy":"Recycle"}}`)
	c.AwaitVolume(t, "odd-rbd", "Failed")
	full := c.CreateNamespace(t, "full")
	newDisk(t, c, full, "disk").fill(t, 1<<20)
	newDisk(t, c, full, "excluded").fill(t, 1<<20)
	c.Kubectl(t, "label", "pvc", "--namespace="+full, "excluded", "excluded_from_alerts=true")
	p := harness.StartTracker(t, c.ServiceAccount(t), "--catalog.url=none", "--kubelet.interval=1s", "--metrics.kube-state-metrics="+harness.StateKinds,
		"--metrics.kube-state-metrics-labels-allowlist=persistentvolumeclaims=[excluded_from_alerts]")
	s := startRulesPrometheus(t, p.Web)
	for _, rule := range stateRules {
		t.Run(rule.name, func(t *testing.T) {
			for _, series := range rule.selects {
				s.awaitResult(t, series)
			}
			harness.Eventually(t, "the alert fires", func() error { return s.fires(rule.name) })
			s.awaitResult(t, fmt.Sprintf(`ALERTS{alertname=%q} unless ALERTS{%s}`, rule.name, rule.absent))
			if found, err := s.query(fmt.Sprintf(`ALERTS{alertname=%q,%s}`, rule.name, rule.absent)); err != nil || len(found) > 0 {
				t.Errorf("it fires for %v: %v", found, err)
			}
		})
	}
	t.Run("dashboard", func(t *testing.T) {
		for _, query := range mixinQueries(full, "disk") {
			s.awaitResult(t, query)
		}
	})
}

// awaitResult waits until a query has a result.
func (s *prometheusServer) awaitResult(t *testing.T, query string) {
	t.Helper()
	harness.Eventually(t, query, func() error {
		found, err := s.query(query)
		if err == nil && len(found) == 0 {
			err = errors.New("there is no result")
		}
		return err
	})
}

// fires returns an error unless an alert was evaluated without an error, and fires.
func (s *prometheusServer) fires(name string) error {
	result, err := s.Rules(background, nil)
	if err != nil {
		return err
	}
	for _, group := range result.Groups {
		for _, rule := range group.Rules {
			if alert, ok := rule.(promv1.AlertingRule); ok && alert.Name == name {
				if alert.Health != promv1.RuleHealthGood || alert.State != string(promv1.AlertStateFiring) {
					return fmt.Errorf("%s is %s, %s: %s", name, alert.State, alert.Health, alert.LastError)
				}
				return nil
			}
		}
	}
	return fmt.Errorf("there is no rule %s", name)
}

// startRulesPrometheus runs a Prometheus with stateRules and the recording rules for the kubelets' metrics until the test ends.
func startRulesPrometheus(t *testing.T, tracker string) *prometheusServer {
	t.Helper()
	type rule struct {
		Alert string `json:"alert"`
		Expr  string `json:"expr"`
	}
	var rules []rule
	for _, r := range stateRules {
		rules = append(rules, rule{r.name, r.expr})
	}
	dir := t.TempDir()
	content, err := json.Marshal(map[string]any{"groups": []any{map[string]any{"name": "storage", "rules": rules}}}) // JSON is YAML
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf(`
global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
rule_files: [rules.yml, %q]
scrape_configs:
  - job_name: kube-state-metrics
    honor_labels: true
    static_configs: [{targets: [%q], labels: {cluster: test}}]
`, harness.File(t, "deploy/kubernetes-mixin/kubelet-volume-stats.yaml"), tracker)
	for name, text := range map[string]string{"rules.yml": string(content), "prometheus.yml": config} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	process := exec.Command(harness.Program(t, "prometheus"), "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:0", "--log.format=json")
	return runPrometheus(t, process)
}
