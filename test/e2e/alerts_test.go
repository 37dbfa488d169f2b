package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// alertsDir has what users install, and its tests.
const alertsDir = "alerts"

// ruleFiles returns the absolute paths of the rule files and of their tests.
func ruleFiles(t testing.TB) (rules, tests []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(harness.File(t, alertsDir), "*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no alerts in %s: %v", alertsDir, err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.yaml") {
			tests = append(tests, path)
		} else {
			rules = append(rules, path)
		}
	}
	return rules, tests
}

// TestAlertRulesPassTheirTests runs promtool's tests of the rules, and of those for the kubernetes-mixin. Each file of alerts has one.
func TestAlertRulesPassTheirTests(t *testing.T) {
	t.Parallel()
	rules, tests := ruleFiles(t)
	for _, args := range [][]string{
		append([]string{"check", "rules", "--lint=all", "--lint-fatal"}, rules...),
		append([]string{"test", "rules", harness.File(t, "deploy/kubernetes-mixin/kubelet-volume-stats_test.yaml")}, tests...),
	} {
		if out, err := exec.Command(harness.Program(t, "promtool"), args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args[:2], " "), err, out)
		}
	}
	for _, path := range rules {
		if !slices.Contains(tests, strings.TrimSuffix(path, ".yaml")+"_test.yaml") {
			t.Errorf("%s has no tests", path)
		}
	}
}

// expectedToFire are the tracker's own alerts that are right in a test: kwok has no kubelets, Prometheus scrapes one tracker
// under two names, and the kernel may have no sandbox.
var expectedToFire = []string{"KubevoltrackerKubeletsFailing", "KubevoltrackerTwoLeaders", "KubevoltrackerSandboxOff"}

// rulesWork checks that Prometheus evaluates each rule without an error, that each alert has what its reader needs,
// and that none of the tracker's own is pending or firing.
func rulesWork(t *testing.T, s *prometheusServer) {
	text, err := os.ReadFile(harness.File(t, "docs/runbook.md"))
	if err != nil {
		t.Fatal(err)
	}
	runbook := string(text)
	var result promv1.RulesResult
	harness.Eventually(t, "all rules are evaluated", func() (err error) {
		if result, err = s.Rules(background, nil); err != nil {
			return err
		}
		for _, group := range result.Groups {
			for _, rule := range group.Rules {
				health := promv1.RuleHealth("")
				switch rule := rule.(type) {
				case promv1.AlertingRule:
					health = rule.Health
				case promv1.RecordingRule:
					health = rule.Health
				}
				if health != promv1.RuleHealthGood {
					return fmt.Errorf("%+v", rule)
				}
			}
		}
		return nil
	})
	for _, group := range result.Groups {
		for _, rule := range group.Rules {
			alert, ok := rule.(promv1.AlertingRule)
			if !ok {
				continue
			}
			if _, err := s.query(alert.Query); err != nil {
				t.Errorf("%s: %v", alert.Name, err)
			}
			expected := slices.Contains(expectedToFire, alert.Name)
			if strings.HasSuffix(group.File, "tracker.yaml") && !expected && alert.State != string(promv1.AlertStateInactive) {
				t.Errorf("%s is %s though all is well: %v", alert.Name, alert.State, alert.Alerts)
			}
			alertIsWhole(t, alert, runbook)
		}
	}
}

// alertIsWhole checks an alert's severity, duration, annotations and runbook.
func alertIsWhole(t *testing.T, alert promv1.AlertingRule, runbook string) {
	t.Helper()
	if severity := string(alert.Labels["severity"]); !slices.Contains([]string{"info", "warning", "critical"}, severity) {
		t.Errorf("%s: severity %q", alert.Name, severity)
	}
	if alert.Duration == 0 || alert.Annotations["summary"] == "" || alert.Annotations["description"] == "" {
		t.Errorf("%s lacks `for`, a summary or a description", alert.Name)
	}
	if !regexp.MustCompile("`kubevoltracker (report|sql)\\b").MatchString(string(alert.Annotations["description"])) || !strings.HasPrefix(string(alert.Annotations["dashboard"]), "/d/kubevoltracker-") {
		t.Errorf("%s names no report, no SQL or no dashboard", alert.Name)
	}
	_, section, found := strings.Cut(runbook, "\n### "+alert.Name+"\n")
	if !strings.HasSuffix(string(alert.Annotations["runbook_url"]), "/docs/runbook.md#"+strings.ToLower(alert.Name)) || !found {
		t.Errorf("%s has no section in docs/runbook.md, or does not name it", alert.Name)
	}
	section, _, _ = strings.Cut(section, "\n### ")
	for _, part := range []string{"**Meaning.**", "**Impact.**", "**Diagnosis.**", "panel", "\n    ", "```sql\n", "**Cure.**"} {
		if !strings.Contains(section, part) {
			t.Errorf("the section of %s in docs/runbook.md lacks %q", alert.Name, part)
		}
	}
}
