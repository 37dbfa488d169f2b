package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/test/grafana"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// sameForm checks that a dashboard is written as `jq -S .` writes it, so that a diff shows what changed.
func sameForm(t testing.TB, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var parsed map[string]any
	if err := json.Unmarshal(text, &parsed); err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	e := json.NewEncoder(&want)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(parsed); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text, want.Bytes()) {
		t.Errorf("%s is not in the common form: make dashboards", path)
	}
	if nulls := bytes.Count(text, []byte(": null")) - bytes.Count(text, []byte(`"value": null`)); nulls > 0 {
		t.Errorf("%s has %d nulls: leave such keys out", path, nulls)
	}
}

// fixedRange matches a rate whose range does not follow the panel's resolution.
var fixedRange = regexp.MustCompile(`(?:rate|increase)\([^\[]*\[(?:[^$]|\$__[^r])`)

// TestDashboardPanelsAreComplete checks that each panel has a title, a description, a unit, a query, and the data
// source that the user chooses, and that no panel covers another one.
func TestDashboardPanelsAreComplete(t *testing.T) {
	t.Parallel()
	for name, d := range grafana.Dashboards(t) {
		sameForm(t, harness.File(t, grafana.Directory+"/"+name+".json"))
		if d.UID != "kubevoltracker-"+name || d.Title == "" || !strings.HasSuffix(d.Description, "?") {
			t.Errorf("%s: uid %q, title %q, description %q", name, d.UID, d.Title, d.Description)
		}
		checkGrid(t, name, d.Panels)
		for _, a := range d.Annotations.List {
			if a.Name == "" || a.Datasource != grafana.ClickHouse || a.Target.Datasource != grafana.ClickHouse || a.Target.RawSQL == "" {
				t.Errorf("%s: annotation %q has no name, no statement or another data source", name, a.Name)
			}
		}
	}
}

// checkGrid checks that the panels of a dashboard have a place and a title of their own, and each of them.
func checkGrid(t *testing.T, dashboard string, panels []grafana.Panel) {
	t.Helper()
	ids, titles, cells := map[int]bool{}, map[string]bool{}, map[[2]int]string{}
	for _, p := range panels {
		if ids[p.ID] || titles[p.Title] || p.Title == "" {
			t.Errorf("%s: panel %d, %q is there twice, or has no title", dashboard, p.ID, p.Title)
		}
		ids[p.ID], titles[p.Title] = true, true
		if p.GridPos.X < 0 || p.GridPos.X+p.GridPos.W > 24 || p.GridPos.W < 1 || p.GridPos.H < 1 {
			t.Errorf("%s, panel %q is out of the grid: %+v", dashboard, p.Title, p.GridPos)
		}
		for n := range p.GridPos.W * p.GridPos.H {
			cell := [2]int{p.GridPos.X + n%p.GridPos.W, p.GridPos.Y + n/p.GridPos.W}
			if other := cells[cell]; other != "" {
				t.Fatalf("%s: panels %q and %q overlap", dashboard, other, p.Title)
			}
			cells[cell] = p.Title
		}
		if p.Type != "row" {
			checkPanel(t, dashboard, p)
		}
	}
}

// checkPanel checks a panel that is no row: what it shows, and each of its queries.
func checkPanel(t *testing.T, dashboard string, p grafana.Panel) {
	t.Helper()
	if p.Description == "" || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 {
		t.Errorf("%s, panel %q lacks a description, a unit or a query", dashboard, p.Title)
	}
	for _, q := range p.Targets {
		want := grafana.Prometheus
		if q.RawSQL != "" {
			want = grafana.ClickHouse
		}
		if p.Datasource != want || q.Datasource != want || (q.Expr == "") == (q.RawSQL == "") {
			t.Errorf("%s, panel %q: its data source is not the one that the user chooses", dashboard, p.Title)
		}
		if fixedRange.MatchString(q.Expr) {
			t.Errorf("%s, panel %q: a rate over anything but $__rate_interval: %s", dashboard, p.Title, q.Expr)
		}
	}
}

// TestDashboardVariablesAreUsed checks that each dashboard has the data source and the cluster, that a query or a link uses each
// variable, and that no query uses another one.
func TestDashboardVariablesAreUsed(t *testing.T) {
	t.Parallel()
	for name, d := range grafana.Dashboards(t) {
		names, used := checkVariables(t, name, d)
		for _, must := range []string{"datasource", "cluster", "namespace"} {
			if !slices.Contains(names, must) {
				t.Errorf("%s has no variable %s", name, must)
			}
		}
		mentioned := map[string]bool{}
		for _, m := range regexp.MustCompile(`\$\{?(\w+)`).FindAllStringSubmatch(used, -1) {
			if !strings.HasPrefix(m[1], "__") {
				mentioned[m[1]] = true
			}
		}
		for _, v := range names {
			if !mentioned[v] {
				t.Errorf("%s: nothing uses the variable %s", name, v)
			}
			delete(mentioned, v)
		}
		for v := range mentioned {
			t.Errorf("%s: there is no variable %s", name, v)
		}
	}
}

// checkVariables checks what the variables of a dashboard ask, and returns their names and the text of all that can use one.
func checkVariables(t *testing.T, dashboard string, d grafana.Dashboard) (names []string, used string) {
	t.Helper()
	for _, v := range d.Templating.List {
		names = append(names, v.Name)
		used += v.Definition() + v.Datasource.UID + "\n"
		if v.Type == "query" && v.Datasource != grafana.Prometheus && v.Datasource != grafana.ClickHouse {
			t.Errorf("%s: variable %s has the data source %v", dashboard, v.Name, v.Datasource)
		}
		if v.IncludeAll && v.AllValue != ".*" {
			t.Errorf("%s: All of variable %s is %q", dashboard, v.Name, v.AllValue)
		}
	}
	for _, p := range d.Panels {
		used += p.Datasource.UID + "\n"
		for _, q := range p.Targets {
			used += q.Expr + q.RawSQL + "\n"
		}
	}
	return names, used
}

var (
	linked    = regexp.MustCompile(`^/d/([\w-]+)\?(.*)$`)
	queryPart = regexp.MustCompile(`^(?:var-(\w+)=.+|\$\{(\w+):queryparam\}|\$\{__url_time_range\})$`)
	fieldOf   = regexp.MustCompile(`\$\{__data\.fields\.(\w+):percentencode\}`)
	bareValue = regexp.MustCompile(`\$\{__(?:value|data)\.[^:}]*\}`)
)

// TestDashboardLinksResolve checks that a link leads to a dashboard that exists, sets variables that it has, and takes them from
// variables and columns that are there.
func TestDashboardLinksResolve(t *testing.T) {
	t.Parallel()
	all := grafana.Dashboards(t)
	variables := map[string][]string{}
	for _, d := range all {
		for _, v := range d.Templating.List {
			variables[d.UID] = append(variables[d.UID], v.Name)
		}
	}
	readme, err := os.ReadFile(harness.File(t, dashboardsPagePath))
	if err != nil {
		t.Fatal(err)
	}
	for name, d := range all {
		for _, l := range d.Links {
			if l.Type == "link" {
				_, anchor, _ := strings.Cut(l.URL, "dashboards/README.md#")
				if !strings.Contains(strings.ToLower(string(readme)), "\n## "+strings.ReplaceAll(anchor, "-", " ")+"\n") {
					t.Errorf("%s: dashboards/README.md has no section %q", name, anchor)
				}
			}
		}
		for _, p := range d.Panels {
			for url, shown := range linksOf(p) {
				checkLink(t, name+", panel "+strconv.Quote(p.Title), url, shown, variables, d.UID)
			}
		}
	}
}

// checkLink checks a link of a dashboard, from a panel that lists columns.
func checkLink(t *testing.T, where, url string, columns []string, variables map[string][]string, from string) {
	t.Helper()
	m := linked.FindStringSubmatch(url)
	if m == nil || variables[m[1]] == nil {
		t.Errorf("%s: no dashboard %s", where, url)
		return
	}
	for _, part := range strings.Split(m[2], "&") {
		v := queryPart.FindStringSubmatch(part)
		if v == nil || v[1] != "" && !slices.Contains(variables[m[1]], v[1]) || v[2] != "" && !slices.Contains(variables[from], v[2]) {
			t.Errorf("%s: %s sets no variable of %s", where, part, m[1])
		}
	}
	if bare := bareValue.FindString(url); bare != "" {
		t.Errorf("%s: in the link %s a value with & would end at it: %s is not percent-encoded", where, url, bare)
	}
	for _, f := range fieldOf.FindAllStringSubmatch(url, -1) {
		if !slices.Contains(columns, f[1]) {
			t.Errorf("%s: the link %s takes a column that the panel does not list", where, url)
		}
	}
}

// linksOf returns the addresses to which a panel leads, and the columns that it lists.
func linksOf(p grafana.Panel) map[string][]string {
	all := map[string][]string{}
	for _, l := range p.FieldConfig.Defaults.Links {
		all[l.URL] = nil
	}
	var columns []string
	for _, o := range p.FieldConfig.Overrides {
		columns = append(columns, o.Matcher.Options)
	}
	for _, o := range p.FieldConfig.Overrides {
		for _, property := range o.Properties {
			if links, ok := property.Value.([]any); ok && property.ID == "links" {
				for _, l := range links {
					url, _ := l.(map[string]any)["url"].(string)
					all[url] = columns
				}
			}
		}
	}
	return all
}

var (
	metricName = regexp.MustCompile(`\b((?:kubevoltracker|process)_\w+)\{([^}]*)\}`)
	labelName  = regexp.MustCompile(`(\w+)(?:=~|!~|!=|=)"`)
	grouping   = regexp.MustCompile(`\b(?:by|on|group_left|without) \(([^)]*)\)`)
	legendName = regexp.MustCompile(`\{\{(\w+)\}\}`)
)

// TestDashboardsNameMetricsAndLabelsThatExist compares the queries to Prometheus with a scrape that has a series in each family.
// ClickHouse itself refuses a statement with a table or column that does not exist: TestDashboardsAnswerOnTheDemo.
func TestDashboardsNameMetricsAndLabelsThatExist(t *testing.T) {
	t.Parallel()
	// Those that Prometheus and the process add.
	labels := map[string][]string{"process_resident_memory_bytes": {}, "process_cpu_seconds_total": {}}
	for name, f := range allMetrics(t) {
		have := []string{}
		for _, l := range f.GetMetric()[0].GetLabel() {
			have = append(have, l.GetName())
		}
		labels[metricPrefix+name] = have
	}
	for name, d := range grafana.Dashboards(t) {
		for where, expr := range exprsOf(d) {
			checkNames(t, name+", "+where, expr, labels)
		}
	}
}

// exprsOf returns what a dashboard asks Prometheus, with the legends, by where that is.
func exprsOf(d grafana.Dashboard) map[string]string {
	exprs := map[string]string{}
	for _, v := range d.Templating.List {
		if v.Datasource == grafana.Prometheus {
			exprs["variable "+v.Name] = v.Definition()
		}
	}
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			if q.Expr != "" {
				exprs["panel "+p.Title+" "+q.RefID] = q.Expr + q.LegendFormat
			}
		}
	}
	return exprs
}

// ofTarget are the labels that a scrape adds, and that of a histogram's buckets.
var ofTarget = []string{"cluster", "job", "instance", "le"}

// checkNames checks the metrics of an expression, and the labels that it and its legend name. labels are those of each metric.
func checkNames(t *testing.T, where, expr string, labels map[string][]string) {
	t.Helper()
	known := slices.Clone(ofTarget)
	for _, m := range metricName.FindAllStringSubmatch(expr, -1) {
		have, ok := labels[strings.TrimSuffix(m[1], "_bucket")]
		if !ok {
			t.Errorf("%s: no metric %s", where, m[1])
		}
		known = append(known, have...)
		for _, l := range labelName.FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(have, l[1]) && !slices.Contains(ofTarget, l[1]) {
				t.Errorf("%s: %s has no label %s", where, m[1], l[1])
			}
		}
	}
	for _, list := range grouping.FindAllStringSubmatch(expr, -1) {
		for l := range strings.SplitSeq(list[1], ",") {
			if l = strings.TrimSpace(l); !slices.Contains(known, l) {
				t.Errorf("%s: none of its metrics has a label %q", where, l)
			}
		}
	}
	for _, l := range legendName.FindAllStringSubmatch(expr, -1) {
		if !slices.Contains(known, l[1]) {
			t.Errorf("%s: none of its metrics has a label %q for the legend", where, l[1])
		}
	}
}
