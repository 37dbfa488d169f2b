package grafana_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/test/grafana"
)

var address string

func TestMain(m *testing.M) { catalogtest.Main(m, &address) }

// panelCase is a panel of a dashboard, rows of the catalog, and what the panel shows of them.
type panelCase struct {
	name, dashboard, panel string
	rows                   []string // INSERT INTO ...
	want                   []string
}

var panelCases = []panelCase{
	{
		"a pod with another owner, two pods at once, a claim that was created anew; no pod is left in the catalog",
		"workload", "Hours of use by day",
		[]string{`use_seconds_daily (cluster, namespace, claim_name, claim_uid, workload_kind, workload_name, owner, day, use_seconds, version) VALUES
			('east', 'shop', 'data', 'c1', 'Deployment', 'api', 'ann', '2026-02-10', 43200, 1), ('east', 'shop', 'data', 'c1', 'Deployment', 'api', 'bob', '2026-02-10', 43200, 1),
			('east', 'shop', 'data', 'c1', 'Deployment', 'api', 'ann', '2026-02-11', 86400, 1), ('east', 'shop', 'data', 'c1', 'Deployment', 'api', 'bob', '2026-02-11', 86400, 1),
			('east', 'shop', 'data', 'c1', 'Deployment', 'api', '', '2026-02-12', 3600, 1), ('east', 'shop', 'data', 'c2', 'Deployment', 'api', '', '2026-02-12', 7200, 1),
			('east', 'lab', 'data', 'c3', 'Deployment', 'api', '', '2026-02-12', 36000, 1), ('west', 'shop', 'data', 'c4', 'Deployment', 'api', '', '2026-02-12', 18000, 1),
			('east', 'shop', 'data', 'c1', 'StatefulSet', 'api', '', '2026-02-12', 9000, 1), ('east', 'shop', 'data', 'c1', 'Deployment', 'web', '', '2026-02-12', 9000, 1)`},
		[]string{
			"2026-02-10 east shop/data 24", "2026-02-11 east shop/data 24", "2026-02-12 east lab/data 10", "2026-02-12 east shop/data 3", "2026-02-12 west shop/data 5",
		},
	},
	{
		"two namespaces and another cluster have a workload and a claim of the same names",
		"workload", "Pods by claim",
		[]string{
			`pods (cluster, namespace, uid, name, workload_kind, workload_name, created_at, version) VALUES
			('east', 'shop', 'p1', 'api-1', 'Deployment', 'api', '2026-02-10', 1), ('east', 'shop', 'p2', 'api-2', 'Deployment', 'api', '2026-02-10', 1),
			('east', 'test', 'p3', 'api-1', 'Deployment', 'api', '2026-02-10', 1), ('west', 'shop', 'p4', 'api-1', 'Deployment', 'api', '2026-02-10', 1),
			('east', 'shop', 'p5', 'api-0', 'StatefulSet', 'api', '2026-02-10', 1)`,
			`mounts (cluster, namespace, claim_name, claim_uid, pod_created_at, pod_uid, container, volume, started_at, ended_at, version) VALUES
			('east', 'shop', 'data', 'c1', '2026-02-10', 'p1', 'main', 'v', '2026-02-10', '2026-02-20', 1), ('east', 'shop', 'data', 'c1', '2026-02-10', 'p2', 'main', 'v', '2026-02-11', NULL, 1),
			('east', 'test', 'data', 'c2', '2026-02-10', 'p3', 'main', 'v', '2026-02-10', NULL, 1), ('west', 'shop', 'data', 'c3', '2026-02-10', 'p4', 'main', 'v', '2026-02-12', NULL, 1),
			('east', 'shop', '', '', '2026-02-10', 'p1', 'main', 'scratch', '2026-02-10', NULL, 1), ('east', 'shop', 'data', 'c1', '2026-02-10', 'p5', 'main', 'v', '2026-02-10', NULL, 1)`,
		},
		[]string{
			"2026-02-10 east shop/data 1", "2026-02-10 east test/data 1", "2026-02-11 east shop/data 2", "2026-02-12 west shop/data 1", "2026-02-20 east shop/data 1",
		},
	},
	{
		"attachments that wait",
		"backends", "Volumes by node",
		[]string{`attachments (cluster, uid, node, attacher, attached_at, detached_at, version) VALUES
			('east', 'a1', 'node-1', 'csi', '2026-02-01', NULL, 1), ('east', 'a2', 'node-1', 'csi', '2026-02-02', NULL, 1), ('east', 'a3', 'node-1', 'csi', NULL, NULL, 1),
			('east', 'a4', 'node-1', 'csi', '2026-02-01', '2026-02-03', 1), ('east', 'a5', 'node-1', 'csi', NULL, '2026-02-03', 1), ('east', 'a6', 'node-2', 'csi', NULL, NULL, 1)`},
		[]string{"east node-1 csi 2 1", "east node-2 csi 0 1"},
	},
	{
		"objects whose changes have expired",
		"growth", "Claims and volumes created by day",
		[]string{
			`volumes (cluster, uid, created_at, version) VALUES ('east', 'v1', '2026-02-10 01:00:00', 1), ('east', 'v1', '2026-02-10 01:00:00', 2), ('west', 'v1', '2026-02-10 23:00:00', 1), ('east', 'v2', NULL, 1)`,
			`claims (cluster, uid, namespace, created_at, version) VALUES ('east', 'c1', 'shop', '2026-02-10 01:00:00', 1), ('east', 'c2', 'lab', '2026-02-12 01:00:00', 1), ('east', 'c3', 'lab', '2025-02-12 01:00:00', 1)`,
		},
		[]string{"2026-02-10 PersistentVolume 2", "2026-02-10 PersistentVolumeClaim 1", "2026-02-12 PersistentVolumeClaim 1"},
	},
}

// TestPanels asks statements of panels as Grafana does, with all clusters and namespaces chosen.
func TestPanels(t *testing.T) {
	view := grafana.View{From: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), Chosen: map[string][]string{"workload": {"Deployment/api"}}}
	for n, p := range panelCases {
		t.Run(p.name, func(t *testing.T) {
			database := fmt.Sprint("panels_", n)
			c := catalogtest.Open(t, address, database)
			if err := c.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			p.insert(t, c)
			d := grafana.Dashboards(t)[p.dashboard]
			i := slices.IndexFunc(d.Panels, func(of grafana.Panel) bool { return of.Title == p.panel })
			if i < 0 {
				t.Fatalf("%s has no panel %q", p.dashboard, p.panel)
			}
			statement, err := view.SQL(d, d.Panels[i].Targets[0].RawSQL)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := grafana.Ask(grafana.Open(t, "http://"+address+"/"+database), statement)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, row := range answer.Rows {
				got = append(got, shown(row))
			}
			if !slices.Equal(got, p.want) {
				t.Errorf("got  %q\nwant %q", got, p.want)
			}
		})
	}
}

func (p panelCase) insert(t *testing.T, c *catalog.Catalog) {
	t.Helper()
	for _, values := range p.rows {
		catalogtest.Rows(t, c, "INSERT INTO "+values)
	}
}

// shown is a row as one text, with days as dates.
func shown(row []any) (text string) {
	for i, v := range row {
		if at, ok := v.(time.Time); ok {
			v = at.UTC().Format(time.DateOnly)
		}
		if i > 0 {
			text += " "
		}
		text += fmt.Sprint(v)
	}
	return text
}
