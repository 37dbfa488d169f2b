package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubevoltracker/kubevoltracker/test/grafana"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// emptyOnTheDemo lists the queries that have no answer on the demo, by dashboard, panel and query, with the reason.
var emptyOnTheDemo = map[string]string{
	"idle/Idle space by day/A":                "the demo's first day is not over",
	"namespace/Space to charge for, by day/A": "the demo's first day is not over",
	"workload/Hours of use by day/A":          "the demo's first day is not over",
	"growth/Volumes created per hour/B":       "the demo did not run a week ago",
	"backends/Attachments that fail/A":        "no attachment of the demo fails",
	"tracker/Rows refused by ClickHouse/A":    "ClickHouse refuses no row of the demo",
	"growth/CSI capacity in 30 days/B":        "a line needs two values, five minutes apart",
}

// TestDashboardsAnswerOnTheDemo runs the demo's workload, scraped by a real Prometheus and written into the embedded engine, and asks
// all that the dashboards ask, as Grafana sends it: each query has rows, or is listed above. -update writes dashboards/README.md with
// the answers.
func TestDashboardsAnswerOnTheDemo(t *testing.T) {
	t.Parallel()
	c := harness.OwnCluster(t)
	p := harness.StartTracker(t, c.Kubeconfig, "--cluster.name=test", "--kubelet.interval=1s")
	s := startPrometheus(t, p.Web)
	began := time.Now()
	playDemo(t, c, p)
	s.awaitScrape(t)
	conn := grafana.Open(t, p.Catalog)
	var volume string
	harness.Eventually(t, "the catalog has the demo", func() error {
		rows, err := p.Query("SELECT persistentvolume FROM current_mounts WHERE namespace = 'shop' AND claim = 'data-mysql-0' LIMIT 1")
		if err == nil && rows[0] == "" {
			err = errors.New("nobody mounts the first database")
		}
		if err == nil {
			volume = rows[0]
		}
		return err
	})
	d := demo{t: t, prometheus: s, clickhouse: conn, from: began.Add(-time.Hour), volumes: []string{volume, "analytics-cache"}, page: newDashboardsPage()}
	all := grafana.Dashboards(t)
	for _, name := range grafana.Order {
		t.Run(name, func(t *testing.T) {
			d := d
			d.t = t
			d.ask(name, all[name])
		})
	}
	if answer := d.page.answers["backends/Largest volume that fits"]; strings.Contains(answer, "gone") || !strings.Contains(answer, "standard") {
		t.Errorf("of two parts of the storage, one is gone, and the panel has\n%s", answer)
	}
	for query := range emptyOnTheDemo {
		if !d.page.asked[query] {
			t.Errorf("%s is listed as empty, and no dashboard has it", query)
		}
	}
	d.page.compare(t, all)
}

// onlyReleased is a namespace without claims, from which a volume was released.
const onlyReleased = "retired"

// playDemo does with the cluster what deploy/demo/demo.sh does, and some more: a claim is resized, a StatefulSet scaled down, a claim kept on
// purpose, one deleted whose volume stays, a volume of a real kubelet fills, and a driver says how much it can still provision.
func playDemo(t *testing.T, c *harness.LocalCluster, p *harness.Tracker) {
	t.Helper()
	harness.Eventually(t, "the company is applied", func() error {
		_, err := c.TryKubectl(t, "apply", "-f", harness.File(t, "deploy/demo/company.yaml"))
		return err
	})
	c.Kubectl(t, "-n", "legacy", "annotate", "pvc/old-exports", "kubevoltracker.io/keep=until 2036-01-31: audit")
	storageCapacity(t, c, "shop", "everywhere", nil)
	removeNode := storageCapacity(t, c, "shop", "gone", map[string]string{"kubernetes.io/hostname": "gone"})
	p.ExpectRows(t, `SELECT count() FROM storage_capacity`, "2")
	removeNode()
	disk := newDisk(t, c, "analytics", "cache")
	disk.awaitUsed(t, p)
	disk.fill(t, 32<<20)
	disk.awaitUsed(t, p)
	disk.leave(t)
	c.Kubectl(t, "-n", "legacy", "wait", "--for=condition=complete", "job/migration", "--timeout=100s")
	_, migrated := c.AwaitBound(t, "legacy", "migration-dump")
	c.Kubectl(t, "-n", "legacy", "delete", "job/migration", "pvc/migration-dump")
	c.AwaitVolume(t, migrated.Name, corev1.VolumeReleased)
	_, kept := c.CreateBoundClaim(t, c.CreateNamespace(t, onlyReleased), "dump", "standard-retain")
	c.Kubectl(t, "-n", onlyReleased, "delete", "pvc/dump")
	c.AwaitVolume(t, kept.Name, corev1.VolumeReleased)
	for _, name := range []string{"kafka-0", "kafka-1", "kafka-2"} {
		c.AwaitPod(t, "analytics", name, corev1.PodRunning)
	}
	c.Kubectl(t, "-n", "analytics", "scale", "statefulset/kafka", "--replicas=2")
	for _, name := range []string{"mysql-0", "mysql-1"} {
		c.AwaitPod(t, "shop", name, corev1.PodRunning)
	}
	if _, err := c.Client.CoreV1().PersistentVolumeClaims("shop").Patch(background, "data-mysql-0", types.MergePatchType, []byte(harness.RequestSize("30Gi")), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	c.CreateClaim(t, "shop", "waits", "none-such")
	p.ExpectRows(t, `SELECT count() > 0 FROM changes WHERE action = 'resized'`, "1")
	p.ExpectRows(t, `SELECT count() FROM volume_states WHERE status = 'released'`, "2")
	p.ExpectRows(t, `SELECT topology FROM storage_capacity WHERE capacity_bytes IS NULL`, "kubernetes.io/hostname=gone")
	p.ExpectRows(t, `SELECT keep_reason FROM idle_volumes WHERE namespace = 'legacy' AND claim = 'old-exports'`, "audit")
	p.ExpectRows(t, `SELECT count() FROM current_mounts WHERE workload = 'StatefulSet/kafka'`, "2")
}

// demo asks the queries of one dashboard.
type demo struct {
	t          *testing.T
	prometheus *prometheusServer
	clickhouse clickhouse.Conn
	from       time.Time
	volumes    []string // those that the dashboard Volume shows: one in use and resized, one that a kubelet has measured
	page       *dashboardsPage
}

// always are the values of the variables that have exactly one value.
func (d demo) always(b grafana.Dashboard, volume string) map[string][]string {
	return b.In("test", map[string][]string{"volume": {volume}, "workload": {"StatefulSet/kafka"}})
}

// sometimes are values that a user chooses.
func (d demo) sometimes() map[string][]string {
	return map[string][]string{
		"volume": {d.volumes[0]}, "workload": {"StatefulSet/kafka"}, "cluster": {"test"}, "namespace": {"shop", "analytics"}, "storageclass": {"standard"}, "owner": {"dana", "o'neil", `a\'b`},
	}
}

// ask runs every query of a dashboard twice: with all that can be chosen, where each must return rows, and with few values.
func (d demo) ask(name string, b grafana.Dashboard) {
	for _, v := range b.Templating.List {
		if v.Type == "query" {
			d.askVariable(b, v)
		}
	}
	for _, a := range b.Annotations.List {
		rows := d.awaitRows(b, "annotation "+a.Name, a.Target.RawSQL, "")
		if len(rows.Columns) != 2 || rows.Columns[0] != "time" || rows.Columns[1] != "text" {
			d.t.Errorf("annotation %q returns %v, want time and text", a.Name, rows.Columns)
		}
	}
	for _, p := range b.Panels {
		var columns []string
		for _, q := range p.Targets {
			where := fmt.Sprintf("%s/%s/%s", name, p.Title, q.RefID)
			d.page.asked[where] = true
			if q.RawSQL != "" {
				a := d.awaitRows(b, where, q.RawSQL, emptyOnTheDemo[where])
				columns = a.Columns
				if q.QueryType == "timeseries" {
					d.checkSeries(where, a)
				}
				d.page.sample(name, p, q, a, nil, emptyOnTheDemo[where])
				if _, err := d.sql(b, q.RawSQL, d.sometimes()); err != nil {
					d.t.Errorf("%s with few values: %v", where, err)
				}
				continue
			}
			v := d.awaitSeries(b, where, q, emptyOnTheDemo[where])
			for _, series := range v {
				for label := range series.Metric {
					columns = append(columns, string(label))
				}
			}
			columns = append(columns, "Value #"+q.RefID)
			d.page.sample(name, p, q, grafana.Answer{}, v, emptyOnTheDemo[where])
			if _, err := d.series(b, q, d.sometimes()); err != nil {
				d.t.Errorf("%s with few values: %v", where, err)
			}
		}
		d.checkColumns(name, p, columns)
	}
}

// checkColumns checks that a table's settings are of columns that it has.
func (d demo) checkColumns(name string, p grafana.Panel, columns []string) {
	for _, change := range p.Transformations {
		for from, to := range change.Options.RenameByName {
			if !slices.Contains(columns, from) {
				d.t.Errorf("%s/%s renames a column %q, and has %q", name, p.Title, from, columns)
			}
			columns = append(columns, to)
		}
	}
	var headings []string
	for _, o := range p.FieldConfig.Overrides {
		if !slices.Contains(columns, o.Matcher.Options) {
			d.t.Errorf("%s/%s sets a column %q, and has %q", name, p.Title, o.Matcher.Options, columns)
		}
		for _, property := range o.Properties {
			if property.ID == "displayName" {
				headings = append(headings, fmt.Sprint(property.Value))
			}
		}
	}
	for _, by := range p.Options.SortBy {
		if !slices.Contains(headings, by.DisplayName) {
			d.t.Errorf("%s/%s is sorted by %q, and has %q", name, p.Title, by.DisplayName, headings)
		}
	}
}

// checkSeries checks the form that Grafana makes series of: a time in ascending order, then texts that name the series, and numbers, with
// one row for each time and name.
func (d demo) checkSeries(where string, a grafana.Answer) {
	if len(a.Columns) == 0 || a.Columns[0] != "time" || !strings.HasPrefix(a.Types[0], "DateTime") {
		d.t.Errorf("%s: the columns of series begin with a time: %v %v", where, a.Columns, a.Types)
		return
	}
	numbers, seen, before := 0, map[string]bool{}, time.Time{}
	for i := range a.Columns {
		if regexp.MustCompile(`^(Nullable\()?(Float|U?Int)`).MatchString(a.Types[i]) {
			numbers++
		}
	}
	if numbers == 0 {
		d.t.Errorf("%s has no number: %v", where, a.Types)
	}
	for _, row := range a.Rows {
		key := ""
		for _, v := range row {
			switch v := v.(type) {
			case time.Time, string:
				key += fmt.Sprint(v, "|")
			}
		}
		at := row[0].(time.Time)
		if at.Before(before) || seen[key] {
			d.t.Errorf("%s: %s is out of order, or there twice", where, key)
			return
		}
		before, seen[key] = at, true
	}
}

func (d demo) view(chosen map[string][]string) grafana.View {
	return grafana.View{From: d.from, To: time.Now(), Chosen: chosen}
}

// sql asks ClickHouse as the plugin does.
func (d demo) sql(b grafana.Dashboard, statement string, chosen map[string][]string) (grafana.Answer, error) {
	expanded, err := d.view(chosen).SQL(b, statement)
	if err != nil {
		return grafana.Answer{}, err
	}
	a, err := grafana.Ask(d.clickhouse, expanded)
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, expanded)
	}
	return a, err
}

// awaitRows asks until there are rows: the catalog follows the cluster by a second or two. If a reason is given why there are none, it
// asks once.
func (d demo) awaitRows(b grafana.Dashboard, where, statement, reason string) (a grafana.Answer) {
	d.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		for _, volume := range d.volumes {
			var err error
			a, err = d.sql(b, statement, d.always(b, volume))
			if err != nil {
				d.t.Errorf("%s: %v", where, err)
				return a
			}
			if (len(a.Rows) > 0) == (reason == "") {
				return a
			}
		}
		if reason != "" || time.Now().After(deadline) {
			d.t.Errorf("%s has %d rows; the reason for none is %q", where, len(a.Rows), reason)
			return a
		}
	}
}

// series asks Prometheus for the values of now, or for those of the past minute as for a graph.
func (d demo) series(b grafana.Dashboard, q grafana.Target, chosen map[string][]string) (model.Vector, error) {
	expr := d.view(chosen).PromQL(b, q.Expr)
	v, err := d.prometheus.query(expr)
	if err == nil && !q.Instant {
		err = d.prometheus.queryRange(expr)
	}
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, expr)
	}
	return v, err
}

func (d demo) awaitSeries(b grafana.Dashboard, where string, q grafana.Target, reason string) (v model.Vector) {
	d.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		for _, volume := range d.volumes {
			var err error
			v, err = d.series(b, q, d.always(b, volume))
			if err != nil {
				d.t.Errorf("%s: %v", where, err)
				return v
			}
			if (len(v) > 0) == (reason == "") {
				return v
			}
		}
		if reason != "" || time.Now().After(deadline) {
			d.t.Errorf("%s has %d series; the reason for none is %q", where, len(v), reason)
			return v
		}
	}
}

var labelValues = regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)

// askVariable asks for the values of a variable as Grafana does.
func (d demo) askVariable(b grafana.Dashboard, v grafana.Variable) {
	if v.Datasource == grafana.ClickHouse {
		a := d.awaitRows(b, "variable "+v.Name, v.Definition(), "")
		if len(a.Columns) != 1 {
			d.t.Errorf("variable %s has the columns %q, want one", v.Name, a.Columns)
		}
		if _, err := d.sql(b, v.Definition(), d.sometimes()); err != nil {
			d.t.Errorf("variable %s with few values: %v", v.Name, err)
		}
		return
	}
	m := labelValues.FindStringSubmatch(d.view(d.always(b, d.volumes[0])).PromQL(b, v.Definition()))
	if m == nil {
		d.t.Errorf("variable %s: %s is no label_values(series, label)", v.Name, v.Definition())
		return
	}
	values, warnings, err := d.prometheus.LabelValues(background, m[2], []string{m[1]}, time.Now().Add(-time.Hour), time.Now())
	if err != nil || len(warnings) > 0 || len(values) == 0 || v.Name == "namespace" && !slices.Contains(values, onlyReleased) {
		d.t.Errorf("variable %s: values %v, warnings %v, %v", v.Name, values, warnings, err)
	}
}

// queryRange evaluates an expression over the past minute, as a graph does. A warning is an error.
func (s *prometheusServer) queryRange(expr string) error {
	now := time.Now()
	form := url.Values{"query": {expr}, "start": {fmt.Sprint(now.Add(-time.Minute).Unix())}, "end": {fmt.Sprint(now.Unix())}, "step": {"15"}}
	request, err := http.NewRequest(http.MethodPost, s.client.URL("/api/v1/query_range", nil).String(), strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	_, body, err := s.client.Do(background, request)
	if err != nil {
		return err
	}
	var answer struct {
		Status, Error   string
		Warnings, Infos []string
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("%w in %s", err, body)
	}
	if notes := slices.Concat(answer.Warnings, answer.Infos); answer.Status != "success" || len(notes) > 0 {
		return fmt.Errorf("%s %s %q", answer.Status, answer.Error, notes)
	}
	return nil
}

// pairCountsOnce compares a panel of the overview with the API. Both targets watch the same cluster, and its claims
// must not count twice.
func pairCountsOnce(t *testing.T, c *harness.LocalCluster, s *prometheusServer, ns string) {
	overview := grafana.Dashboards(t)["overview"]
	for _, p := range overview.Panels {
		if p.Title != "Claimed space" {
			continue
		}
		g := grafana.View{Chosen: map[string][]string{"namespace": {ns}, "storageclass": {"standard", "scraped", "manual"}}}
		expr := g.PromQL(overview, p.Targets[0].Expr)
		harness.Eventually(t, "the space of the claims counts once", func() error {
			claims, err := c.Client.CoreV1().PersistentVolumeClaims(ns).List(background, metav1.ListOptions{})
			if err != nil {
				return err
			}
			if got, err := s.value(expr); err != nil || got != float64(len(claims.Items)<<30) {
				return fmt.Errorf("%v bytes, want %d claims of 1Gi: %w", got, len(claims.Items), err)
			}
			return nil
		})
		return
	}
	t.Error("the overview has no panel \"Claimed space\"")
}
