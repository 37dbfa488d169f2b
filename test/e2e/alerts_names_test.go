package e2e

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// ruleFile is the part of a rule file that the tests look at.
type ruleFile struct {
	Groups []struct {
		Name  string
		Rules []ruleOfFile
	}
}

type ruleOfFile struct {
	Record, Alert, Expr string
	Annotations, Labels map[string]string
}

func readYAML(t testing.TB, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = yaml.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// allRules returns the rules of all files.
func allRules(t testing.TB) (all []ruleOfFile) {
	t.Helper()
	files, _ := ruleFiles(t)
	for _, path := range files {
		var f ruleFile
		readYAML(t, path, &f)
		for _, g := range f.Groups {
			all = append(all, g.Rules...)
		}
	}
	return all
}

var (
	promComment  = regexp.MustCompile(`(?m)#.*$`)
	ourSelector  = regexp.MustCompile(`\b(kubevoltracker_\w+|up)\b(?:\{([^}]*)\})?`)
	ourRecord    = regexp.MustCompile(`\bkubevoltracker:[\w:]+`)
	labelMatcher = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)`)
	labelList    = regexp.MustCompile(`\b(?:by|on|without|ignoring|group_left|group_right)\s*\(([^)]*)\)`)
	usedLabel    = regexp.MustCompile(`\$labels\.(\w+)`)
)

// knownNames are the names that rules may use.
type knownNames struct {
	labels  map[string][]string // by metric
	any     []string            // labels that some metric has
	records map[string]string   // the expressions of recorded names
}

// namesToUse returns the names of a scrape that has a series in each family, and those that the rules record.
func namesToUse(t *testing.T, rules []ruleOfFile) knownNames {
	n := knownNames{labels: map[string][]string{"up": {"job", "instance"}}, any: []string{"cluster", "le", "job"}, records: map[string]string{}}
	for name, family := range allMetrics(t) {
		of := []string{}
		for _, pair := range family.GetMetric()[0].GetLabel() {
			of = append(of, pair.GetName())
		}
		n.any = append(n.any, of...)
		n.labels[metricPrefix+name] = of
		if family.GetMetric()[0].GetHistogram() != nil {
			n.labels[metricPrefix+name+"_bucket"] = append([]string{"le"}, of...)
		}
	}
	for _, r := range rules {
		n.records[r.Record] += r.Expr
	}
	return n
}

// has reports whether a label is among those of a metric, or one that --metrics.namespace-labels adds.
func has(labels []string, label string) bool {
	return slices.Contains(labels, label) || strings.HasPrefix(label, "namespace_label_")
}

// TestRulesNameMetricsAndLabelsThatExist compares the names in expressions and annotations with those that exist.
func TestRulesNameMetricsAndLabelsThatExist(t *testing.T) {
	t.Parallel()
	rules := allRules(t)
	names := namesToUse(t, rules)
	for _, r := range rules {
		name, expr := r.Alert+r.Record, promComment.ReplaceAllString(r.Expr, "")
		kept := expr + names.check(t, name, expr, true)
		for _, text := range r.Annotations {
			kept += names.check(t, name, strings.ReplaceAll(text, "=%q", `=""`), false)
		}
		listed := names.listed(t, name, kept)
		for key, text := range r.Annotations {
			for _, m := range usedLabel.FindAllStringSubmatch(text, -1) {
				if !listed[m[1]] {
					t.Errorf("%s: the %s shows the label %s, which the expression does not keep", name, key, m[1])
				}
			}
		}
	}
}

// check checks the metrics with their labels, and the recorded names, of a rule's expression or annotation. It returns the expressions of
// the recorded names.
func (n knownNames) check(t *testing.T, rule, text string, isExpr bool) (recorded string) {
	t.Helper()
	for _, m := range ourSelector.FindAllStringSubmatch(text, -1) {
		of, exists := n.labels[m[1]]
		if !exists {
			if m[1] != "up" || isExpr { // else it is the word
				t.Errorf("%s names the metric %s, which is not served", rule, m[1])
			}
			continue
		}
		for _, matcher := range labelMatcher.FindAllStringSubmatch(m[2], -1) {
			if label := matcher[1]; label != "cluster" && !has(of, label) {
				t.Errorf("%s: %s has no label %s", rule, m[1], label)
			}
		}
	}
	for _, record := range ourRecord.FindAllString(text, -1) {
		if n.records[record] == "" {
			t.Errorf("%s names %s, which no rule records", rule, record)
		}
		recorded += promComment.ReplaceAllString(n.records[record], "")
	}
	return recorded
}

// listed returns the labels that an expression groups or joins by, and checks that a metric has each.
func (n knownNames) listed(t *testing.T, rule, expr string) map[string]bool {
	t.Helper()
	listed := map[string]bool{"cluster": true}
	for _, m := range labelList.FindAllStringSubmatch(expr, -1) {
		for label := range strings.FieldsFuncSeq(m[1], func(r rune) bool { return r == ',' || r == ' ' || r == '\n' }) {
			listed[label] = true
			if !has(n.any, label) {
				t.Errorf("%s: no metric has a label %s", rule, label)
			}
		}
	}
	return listed
}

// ruleTests is the part of a promtool test that the tests look at.
type ruleTests struct{ Tests []ruleTest }

type ruleTest struct {
	Name          string
	InputSeries   []struct{ Series, Values string } `json:"input_series"`
	AlertRuleTest []struct {
		Alertname string
		ExpAlerts []any `json:"exp_alerts"`
	} `json:"alert_rule_test"`
}

// trackers reports whether a tracker restarts in a test, and how many there are. A restart is a series that ends and comes back, or of `up`
// one that is 0 for a while.
func (r ruleTest) trackers() (restart bool, n int) {
	names := map[string]bool{}
	for _, s := range r.InputSeries {
		restart = restart || comesBack.MatchString(s.Values) || strings.HasPrefix(s.Series, "up{") && strings.Contains(s.Values, "0x")
		if m := trackerOf.FindStringSubmatch(s.Series); m != nil {
			names[m[1]] = true
		}
	}
	return restart, len(names)
}

// comesBack matches the values of a series that ends and comes back.
var comesBack = regexp.MustCompile(`stale .*\d`)

var trackerOf = regexp.MustCompile(`(?:instance|pod)="(\w+)`)

// TestEachAlertIsTestedBothWays checks that the promtool tests have, for each alert, a moment at which it fires and one at which it
// does not, a tracker that restarts, and two trackers.
func TestEachAlertIsTestedBothWays(t *testing.T) {
	t.Parallel()
	type tested struct{ fires, silent, restart, pair bool }
	of := map[string]*tested{}
	for _, r := range allRules(t) {
		if r.Alert != "" {
			of[r.Alert] = &tested{}
		}
	}
	_, tests := ruleFiles(t)
	for _, path := range tests {
		var f ruleTests
		readYAML(t, path, &f)
		for _, test := range f.Tests {
			restart, trackers := test.trackers()
			for _, step := range test.AlertRuleTest {
				alert := of[step.Alertname]
				if alert == nil {
					t.Errorf("%s, %q: there is no alert %s", path, test.Name, step.Alertname)
					continue
				}
				alert.fires = alert.fires || len(step.ExpAlerts) > 0
				alert.silent = alert.silent || len(step.ExpAlerts) == 0
				alert.restart = alert.restart || restart
				alert.pair = alert.pair || trackers > 1
			}
		}
	}
	for name, is := range of {
		if *is != (tested{true, true, true, true}) {
			t.Errorf("%s is not tested in each way: %+v", name, *is)
		}
	}
}
