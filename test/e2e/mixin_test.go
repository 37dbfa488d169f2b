package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// stateRules are what the kubernetes-mixin's storage alerts and kube-state-metrics' documentation ask of
// kube-state-metrics: each rule and the series that it selects. The kubelet's series (kubelet_volume_stats_…) that
// the mixin's other operands select come from the kubelets, which Prometheus scrapes itself; kube-state-metrics has
// never had them. So the rules on full volumes are here with the operands that are kube-state-metrics' own.
var stateRules = []struct {
	name, expr string
	selects    []string
	fires      bool // with the objects of the test
}{
	{
		"VolumeErrors", `kube_persistentvolume_status_phase{phase=~"Failed|Pending",job="kube-state-metrics"} > 0`,
		[]string{`kube_persistentvolume_status_phase{phase="Failed",job="kube-state-metrics"}`, `kube_persistentvolume_status_phase{phase="Pending",job="kube-state-metrics"}`},
		true,
	},
	{
		"FillingUpUnlessReadOnly", `count by (cluster, namespace, persistentvolumeclaim) (kube_persistentvolumeclaim_info{job="kube-state-metrics"}) > 0
			unless on (cluster, namespace, persistentvolumeclaim) kube_persistentvolumeclaim_access_mode{access_mode="ReadOnlyMany"} == 1`,
		[]string{`kube_persistentvolumeclaim_access_mode{access_mode="ReadOnlyMany"}`, `kube_persistentvolumeclaim_info{job="kube-state-metrics"}`},
		true,
	},
	{
		"FillingUpUnlessExcluded", `count by (cluster, namespace, persistentvolumeclaim) (kube_persistentvolumeclaim_info{job="kube-state-metrics"}) > 0
			unless on (cluster, namespace, persistentvolumeclaim) kube_persistentvolumeclaim_labels{label_excluded_from_alerts="true"} == 1`,
		[]string{`kube_persistentvolumeclaim_labels{label_excluded_from_alerts="true"}`},
		true,
	},
	{
		"VolumeStuckInDeletion", `kube_persistentvolume_deletion_timestamp * on (persistentvolume) group_left() (kube_persistentvolume_status_phase{phase="Bound"} == 1) > 0`,
		[]string{`kube_persistentvolume_deletion_timestamp`, `kube_persistentvolume_status_phase{phase="Bound"}`},
		true,
	},
}

// TestMixinRulesFindAllSeriesInTheTrackerAlone has a real Prometheus scrape a tracker and nothing else, in the job
// kube-state-metrics as the mixin's selector has it. No series that the rules select may be missing.
func TestMixinRulesFindAllSeriesInTheTrackerAlone(t *testing.T) {
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
	p := harness.StartTracker(t, c.Kubeconfig, "--catalog.url=none", "--metrics.kube-state-metrics="+harness.StateKinds,
		"--metrics.kube-state-metrics-labels-allowlist=persistentvolumeclaims=[excluded_from_alerts]")
	s := startRulesPrometheus(t, p.Web)
	for _, rule := range stateRules {
		t.Run(rule.name, func(t *testing.T) {
			for _, series := range rule.selects {
				harness.Eventually(t, series, func() error {
					found, err := s.query(series)
					if err == nil && len(found) == 0 {
						err = fmt.Errorf("there is no %s", series)
					}
					return err
				})
			}
			harness.Eventually(t, "the rule fires", func() error { return s.fires(rule.name, rule.fires) })
		})
	}
}

// fires returns an error unless a rule was evaluated without an error, and fires or not.
func (s *prometheusServer) fires(name string, want bool) error {
	result, err := s.Rules(background, nil)
	if err != nil {
		return err
	}
	for _, group := range result.Groups {
		for _, rule := range group.Rules {
			if alert, ok := rule.(promv1.AlertingRule); ok && alert.Name == name {
				if alert.Health != promv1.RuleHealthGood || (alert.State == string(promv1.AlertStateFiring)) != want {
					return fmt.Errorf("%s is %s, %s: %s", name, alert.State, alert.Health, alert.LastError)
				}
				return nil
			}
		}
	}
	return fmt.Errorf("there is no rule %s", name)
}

// startRulesPrometheus runs a Prometheus with stateRules until the test ends.
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
rule_files: [rules.yml]
scrape_configs:
  - job_name: kube-state-metrics
    honor_labels: true
    static_configs: [{targets: [%q], labels: {cluster: test}}]
`, tracker)
	for name, text := range map[string]string{"rules.yml": string(content), "prometheus.yml": config} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	process := exec.Command(harness.Program(t, "prometheus"), "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:0", "--log.format=json")
	return runPrometheus(t, process)
}
