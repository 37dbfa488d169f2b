package scale

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/test/grafana"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

const (
	// ofPanel is how long a panel's query may take.
	ofPanel = time.Second
	// attempts are how often a query is asked; the shortest time counts, with the files in the page cache and without a scrape beside it.
	attempts = 3
)

// panelTime is what a query of a panel took: with all values of the variables, and with one namespace.
type panelTime struct {
	where string
	took  [2]time.Duration
	rows  [2]int
	err   string
}

// TestDashboardsOfClickHouse fills a catalog as TestHistory does, and prints how long the statements of the dashboards take, each over
// the default time of its dashboard. It demands nothing, as the times depend on the machine.
func TestDashboardsOfClickHouse(t *testing.T) {
	mounts, _ := strconv.Atoi(os.Getenv("BENCH_DASHBOARDS_MOUNTS"))
	if mounts == 0 {
		t.Skip("it takes minutes: make bench-dashboards")
	}
	h := &history{mounts: mounts, claims: mounts / 100, began: time.Now().Add(-span).Truncate(24 * time.Hour)}
	server, c := h.open(t, "after", harness.Program(t, "kubevoltracker"))
	conn := grafana.Open(t, "http://"+server.Address+"/kubevoltracker")
	one := catalogtest.Rows(t, c, `SELECT k.volume_name, concat(p.workload_kind, '/', p.workload_name)
		FROM (SELECT * FROM claims FINAL WHERE namespace = 'team-007' AND deleted_at IS NULL AND uid IN (SELECT claim_uid FROM mounts WHERE namespace = 'team-007')) AS k
		JOIN (SELECT claim_uid, max(pod_uid) AS pod FROM mounts WHERE namespace = 'team-007' GROUP BY claim_uid) AS m ON m.claim_uid = k.uid
		JOIN (SELECT uid, workload_kind, workload_name FROM pods WHERE namespace = 'team-007') AS p ON p.uid = m.pod
		ORDER BY k.uid LIMIT 1`)
	if len(one) == 0 {
		t.Fatal("no claim of team-007 was mounted: more mounts are needed")
	}
	always := map[string][]string{"volume": {fmt.Sprint(one[0][0])}, "workload": {fmt.Sprint(one[0][1])}}
	few := map[string][]string{"volume": always["volume"], "workload": always["workload"], "cluster": {"east"}, "namespace": {"team-007"}}
	var all []panelTime
	for name, statements := range statementsOf(t) {
		for _, s := range statements {
			p := panelTime{where: name + ": " + s.title}
			for i, chosen := range []map[string][]string{always, few} {
				v := grafana.View{From: time.Now().Add(-s.since), To: time.Now(), Chosen: s.dashboard.In("east", chosen)}
				expanded, err := v.SQL(s.dashboard, s.sql)
				if err != nil {
					t.Fatal(err)
				}
				p.took[i] = time.Hour
				for range attempts {
					began := time.Now()
					a, err := grafana.Ask(conn, expanded)
					p.took[i], p.rows[i] = min(p.took[i], time.Since(began)), len(a.Rows)
					if err != nil {
						p.err = strings.SplitN(err.Error(), "\n", 2)[0]
					}
				}
			}
			all = append(all, p)
		}
	}
	t.Logf("\n%d mounts, %d volumes, ClickHouse\n%s", mounts, mounts/100, panelTable(all))
}

// statement is one statement of a dashboard.
type statement struct {
	dashboard  grafana.Dashboard
	title, sql string
	since      time.Duration // the default time of the dashboard
}

// statementsOf returns the statements to ClickHouse by dashboard: those of panels, variables and annotations.
func statementsOf(t *testing.T) map[string][]statement {
	all := map[string][]statement{}
	for name, d := range grafana.Dashboards(t) {
		add := func(title, sql string) { all[name] = append(all[name], statement{d, title, sql, d.Since(t)}) }
		for _, v := range d.Templating.List {
			if v.Datasource == grafana.ClickHouse {
				add("variable "+v.Name, v.Definition())
			}
		}
		for _, a := range d.Annotations.List {
			add("annotation "+a.Name, a.Target.RawSQL)
		}
		for _, p := range d.Panels {
			for _, q := range p.Targets {
				if q.RawSQL != "" {
					add(p.Title, q.RawSQL)
				}
			}
		}
	}
	return all
}

// panelTable prints the queries that took longest first.
func panelTable(all []panelTime) string {
	slowest(all)
	var b strings.Builder
	b.WriteString("| query | all, s | rows | one namespace, s | rows |\n|---|--:|--:|--:|--:|\n")
	missed := 0
	for _, p := range all {
		if p.err != "" {
			fmt.Fprintf(&b, "| %s | %s | | | |\n", p.where, p.err)
			missed++
			continue
		}
		late := ""
		if max(p.took[0], p.took[1]) > ofPanel {
			late = " **missed**"
			missed++
		}
		fmt.Fprintf(&b, "| %s | %.2f%s | %d | %.2f | %d |\n", p.where, p.took[0].Seconds(), late, p.rows[0], p.took[1].Seconds(), p.rows[1])
	}
	fmt.Fprintf(&b, "\n%d of %d took more than %s or failed\n", missed, len(all), ofPanel)
	return b.String()
}
