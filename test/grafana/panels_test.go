package grafana_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/test/grafana"
)

var address string

func TestMain(m *testing.M) { catalogtest.Main(m, &address) }

// panelCase is a panel or a variable of a dashboard, rows of the catalog, and what the panel shows of them, or what the variable lists.
type panelCase struct {
	name, dashboard, panel string
	chosen                 map[string][]string // else the workload Deployment/api and the volume pv-1, of all clusters and namespaces
	rows                   []string            // INSERT INTO ...
	want                   []string
}

// escapes is the name of a controller that ends a text of ClickHouse's SQL in which quotes are doubled, and goes on as SQL.
const escapes = `\' UNION ALL SELECT 0 -- `

var panelCases = []panelCase{
	{
		"a pod with another owner, two pods at once, a claim that was created anew; no pod is left in the catalog",
		"workload", "Hours of use by day", nil,
		[]string{`use_seconds_daily (cluster, namespace, claim_name, claim_uid, workload_kind, workload_name, owner, day, use_seconds, version) VALUES
			('east', 'shop', 'data', 'c1', 'Deployment', 'api', 'ann', '2026-01-31', 3600, 1), ('east', 'shop', 'data', 'c1', 'Deployment', 'api', 'ann', '2026-02-01', 3600, 1),
			('east', 'shop', 'data', 'c1', 'Deployment', 'api', 'ann', '2026-02-10', 43200, 1), ('east', 'shop', 'data', 'c1', 'Deployment', 'api', 'bob', '2026-02-10', 43200, 1),
			('east', 'shop', 'data', 'c1', 'Deployment', 'api', 'ann', '2026-02-11', 86400, 1), ('east', 'shop', 'data', 'c1', 'Deployment', 'api', 'bob', '2026-02-11', 86400, 1),
			('east', 'shop', 'data', 'c1', 'Deployment', 'api', '', '2026-02-12', 3600, 1), ('east', 'shop', 'data', 'c2', 'Deployment', 'api', '', '2026-02-12', 7200, 1),
			('east', 'lab', 'data', 'c3', 'Deployment', 'api', '', '2026-02-12', 36000, 1), ('west', 'shop', 'data', 'c4', 'Deployment', 'api', '', '2026-02-12', 18000, 1),
			('east', 'shop', 'data', 'c1', 'StatefulSet', 'api', '', '2026-02-12', 9000, 1), ('east', 'shop', 'data', 'c1', 'Deployment', 'web', '', '2026-02-12', 9000, 1)`},
		[]string{
			"2026-02-01 east shop/data 1", "2026-02-10 east shop/data 24", "2026-02-11 east shop/data 24", "2026-02-12 east lab/data 10", "2026-02-12 east shop/data 3", "2026-02-12 west shop/data 5",
		},
	},
	{
		"two namespaces and another cluster have a workload and a claim of the same names",
		"workload", "Pods by claim", nil,
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
		"backends", "Volumes by node", nil,
		[]string{`attachments (cluster, uid, node, attacher, attached, detached_at, version) VALUES
			('east', 'a1', 'node-1', 'csi', true, NULL, 1), ('east', 'a2', 'node-1', 'csi', true, NULL, 1), ('east', 'a3', 'node-1', 'csi', false, NULL, 1),
			('east', 'a4', 'node-1', 'csi', true, '2026-02-03', 1), ('east', 'a5', 'node-1', 'csi', false, '2026-02-03', 1), ('east', 'a6', 'node-2', 'csi', false, NULL, 1)`},
		[]string{"east node-1 csi 2 1", "east node-2 csi 0 1"},
	},
	{
		"objects whose changes have expired",
		"growth", "Claims and volumes created by day", nil,
		[]string{
			`volumes (cluster, uid, created_at, version) VALUES ('east', 'v1', '2026-02-10 01:00:00', 1), ('east', 'v1', '2026-02-10 01:00:00', 2), ('west', 'v1', '2026-02-10 23:00:00', 1), ('east', 'v2', NULL, 1)`,
			`claims (cluster, uid, namespace, created_at, version) VALUES ('east', 'c1', 'shop', '2026-02-10 01:00:00', 1), ('east', 'c2', 'lab', '2026-02-12 01:00:00', 1), ('east', 'c3', 'lab', '2025-02-12 01:00:00', 1),
			('east', 'c4', 'lab', '2026-01-31 23:00:00', 1), ('east', 'c5', 'lab', '2026-02-01 01:00:00', 1), ('east', 'c6', 'lab', '2026-02-01 23:00:00', 1)`,
		},
		[]string{"2026-02-01 PersistentVolumeClaim 2", "2026-02-10 PersistentVolume 2", "2026-02-10 PersistentVolumeClaim 1", "2026-02-12 PersistentVolumeClaim 1"},
	},
	{
		"space on the first day of the chosen time, of which only the end is chosen",
		"namespace", "Space to charge for, by day", nil,
		[]string{`byte_seconds_daily (cluster, day, namespace, owner, capacity_byte_seconds, version) VALUES
			('east', '2026-01-31', 'shop', 'ann', 86400000000000, 1), ('east', '2026-02-01', 'shop', 'ann', 172800000000000, 1), ('east', '2026-02-28', 'shop', 'ann', 259200000000000, 1)`},
		[]string{"2026-02-01 ann 2", "2026-02-28 ann 3"},
	},
	{
		"idle space on the first day of the chosen time",
		"idle", "Idle space by day", nil,
		[]string{`byte_seconds_daily (cluster, day, namespace, idle_byte_seconds, version) VALUES
			('east', '2026-01-31', 'shop', 86400, 1), ('east', '2026-02-01', 'shop', 172800, 1), ('east', '2026-02-28', 'shop', 259200, 1)`},
		[]string{"2026-02-01 shop 2", "2026-02-28 shop 3"},
	},
	{
		"a volume that has changed once in the chosen time, one of its name that was deleted in it, and one that was deleted before",
		"volume", "Used, from the catalog", nil,
		[]string{
			`volumes (cluster, uid, name, deleted_at, version) VALUES ('east', 'v0', 'pv-1', '2026-01-20', 1), ('east', 'v1', 'pv-1', '2026-02-05', 1), ('east', 'v2', 'pv-1', NULL, 1),
			('east', 'v3', 'pv-3', NULL, 1)`,
			`usage (cluster, namespace, volume_uid, at, used_bytes, capacity_bytes) VALUES ('east', 'shop', 'v0', '2026-01-18', 5, 100), ('east', 'shop', 'v1', '2026-01-10', 6, 100),
			('east', 'lab', 'v1', '2026-01-15', 7, 100), ('east', 'shop', 'v2', '2026-02-10', 20, 200), ('east', 'shop', 'v2', '2026-03-10', 30, 200), ('east', 'shop', 'v3', '2026-02-10', 40, 400)`,
		},
		[]string{"2026-02-01 7 100", "2026-02-05 7 100", "2026-02-10 20 200", "2026-03-01 20 200"},
	},
	{
		"a volume that does not change",
		"volume", "Used, from the catalog", nil,
		[]string{`volumes (cluster, uid, name, version) VALUES ('east', 'v1', 'pv-1', 1)`, `usage (cluster, namespace, volume_uid, at, used_bytes, capacity_bytes) VALUES ('east', 'shop', 'v1', '2026-01-10', 6, 100)`},
		[]string{"2026-02-01 6 100", "2026-03-01 6 100"},
	},
	{
		"a pod without a controller, and one whose controller has a name that sorts first",
		"workload", "workload", nil,
		[]string{`pods (cluster, namespace, uid, name, workload_kind, workload_name, created_at, version) VALUES
			('east', 'shop', 'p1', 'api-1', 'Deployment', 'api', '2026-02-10', 1), ('east', 'shop', 'p2', 'api-2', 'Deployment', 'api', '2026-02-11', 1),
			('east', 'shop', 'p3', 'odd', '!', '` + sqlText(escapes) + `', '2026-02-12', 1), ('east', 'shop', 'p4', 'shell-1', '', '', '2026-02-13', 1)`},
		[]string{"Deployment/api", "Pod/shell-1", "!/" + escapes},
	},
	{
		"a workload whose name would end the text that it is in",
		"workload", "Pods by claim", map[string][]string{"workload": {"!/" + escapes}},
		[]string{
			`pods (cluster, namespace, uid, name, workload_kind, workload_name, created_at, version) VALUES
			('east', 'shop', 'p1', 'odd', '!', '` + sqlText(escapes) + `', '2026-02-10', 1), ('east', 'shop', 'p2', 'api-1', 'Deployment', 'api', '2026-02-10', 1)`,
			`mounts (cluster, namespace, claim_name, claim_uid, pod_created_at, pod_uid, container, volume, started_at, version) VALUES
			('east', 'shop', 'data', 'c1', '2026-02-10', 'p1', 'main', 'v', '2026-02-10', 1), ('east', 'shop', 'other', 'c2', '2026-02-10', 'p2', 'main', 'v', '2026-02-10', 1)`,
		},
		[]string{"2026-02-10 east shop/data 1"},
	},
	{
		"owners with backslashes, quotes and what else means something to SQL or to an address",
		"namespace", "By namespace and owner", map[string][]string{"owner": {`CORP\nina`, `a\'b`, "o'neil", "R&D, 100% + more; \"x\""}, "namespace": {"shop"}, "cluster": {"east"}},
		[]string{`claims (cluster, uid, namespace, owner, capacity_bytes, version) VALUES
			('east', 'c1', 'shop', '` + sqlText(`CORP\nina`) + `', 5, 1), ('east', 'c2', 'shop', '` + sqlText(`a\'b`) + `', 4, 1), ('east', 'c3', 'shop', '` + sqlText("o'neil") + `', 3, 1),
			('east', 'c4', 'shop', '` + sqlText("R&D, 100% + more; \"x\"") + `', 2, 1), ('east', 'c5', 'shop', 'b', 1, 1), ('east', 'c6', 'shop', '', 1, 1), ('east', 'c7', 'lab', 'o', 1, 1)`},
		[]string{`east shop CORP\nina 1 0 5 <nil> 5`, `east shop a\'b 1 0 4 <nil> 4`, "east shop o'neil 1 0 3 <nil> 3", "east shop R&D, 100% + more; \"x\" 1 0 2 <nil> 2"},
	},
	{
		"an owner whose name is what separates two chosen owners in the statement",
		"namespace", "By namespace and owner", map[string][]string{"owner": {"x&var-owner=ann", "büro"}},
		[]string{`claims (cluster, uid, namespace, owner, capacity_bytes, version) VALUES
			('east', 'c1', 'shop', 'x&var-owner=ann', 3, 1), ('east', 'c2', 'shop', 'büro', 2, 1), ('east', 'c3', 'shop', 'ann', 1, 1), ('east', 'c4', 'shop', 'x', 1, 1)`},
		[]string{"east shop x&var-owner=ann 1 0 3 <nil> 3", "east shop büro 1 0 2 <nil> 2"},
	},
}

// sqlText is a value between the quotes of a text of ClickHouse's SQL.
func sqlText(value string) string { return strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(value) }

// TestPanels asks statements of panels and variables as Grafana does. A server in another time zone than UTC answers the same.
func TestPanels(t *testing.T) {
	view := grafana.View{From: time.Date(2026, 2, 1, 14, 0, 0, 0, time.UTC), To: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
	for n, p := range panelCases {
		t.Run(p.name, func(t *testing.T) {
			database := fmt.Sprint("panels_", n)
			c := catalogtest.Open(t, address, database)
			if err := c.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			p.insert(t, c)
			view := view
			if view.Chosen = p.chosen; p.chosen == nil {
				view.Chosen = map[string][]string{"workload": {"Deployment/api"}, "volume": {"pv-1"}}
			}
			d := grafana.Dashboards(t)[p.dashboard]
			statement, err := view.SQL(d, p.statement(t, d))
			if err != nil {
				t.Fatal(err)
			}
			for _, zone := range []string{"UTC", "Pacific/Auckland"} {
				answer, err := grafana.Ask(grafana.Open(t, "http://"+address+"/"+database+"?session_timezone="+zone), statement)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, row := range answer.Rows {
					got = append(got, shown(row))
				}
				if !slices.Equal(got, p.want) {
					t.Errorf("of a server in %s\ngot  %q\nwant %q", zone, got, p.want)
				}
			}
		})
	}
}

// statement is that of the panel, or of the variable.
func (p panelCase) statement(t *testing.T, d grafana.Dashboard) string {
	t.Helper()
	for _, of := range d.Panels {
		if of.Title == p.panel {
			return of.Targets[0].RawSQL
		}
	}
	for _, of := range d.Templating.List {
		if of.Name == p.panel {
			return of.Definition()
		}
	}
	t.Fatalf("%s has no panel and no variable %q", p.dashboard, p.panel)
	return ""
}

// TestChosenValuesUseThePrimaryKey asks ClickHouse how it reads a table of which two clusters are chosen.
func TestChosenValuesUseThePrimaryKey(t *testing.T) {
	c := catalogtest.Open(t, address, "primary_key")
	if err := c.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := panelCase{dashboard: "backends", panel: "Volumes by node", rows: []string{"attachments (cluster, uid, version) VALUES ('east', 'a1', 1)"}}
	p.insert(t, c)
	d := grafana.Dashboards(t)[p.dashboard]
	statement, err := grafana.View{Chosen: map[string][]string{"cluster": {"east", "west"}}}.SQL(d, p.statement(t, d))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := grafana.Ask(grafana.Open(t, "http://"+address+"/primary_key"), "EXPLAIN indexes = 1 "+statement)
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprint(plan.Rows); !strings.Contains(text, "cluster in 2-element set") {
		t.Errorf("it reads all clusters:\n%s", text)
	}
}

// TestAChosenNameStaysText: whoever creates pods and claims chooses the names that a dashboard offers. None of them ends the text that it is in,
// in any statement.
func TestAChosenNameStaysText(t *testing.T) {
	for name, d := range grafana.Dashboards(t) {
		plain, odd := grafana.View{Chosen: map[string][]string{}}, grafana.View{Chosen: map[string][]string{}}
		for _, v := range d.Templating.List {
			plain.Chosen[v.Name], odd.Chosen[v.Name] = []string{"x", "y"}, []string{escapes, `"') OR 1 -- ${volume:queryparam} $__fromTime`}
			if !v.Multi {
				plain.Chosen[v.Name], odd.Chosen[v.Name] = plain.Chosen[v.Name][:1], odd.Chosen[v.Name][:1]
			}
		}
		for _, statement := range statements(d) {
			want, err := plain.SQL(d, statement)
			if err != nil {
				t.Errorf("%s: %v in\n%s", name, err, statement)
				continue
			}
			got, err := odd.SQL(d, statement)
			if err != nil {
				t.Errorf("%s: %v in\n%s", name, err, statement)
			}
			for _, sign := range []string{"'", `\`} {
				if strings.Count(got, sign) != strings.Count(want, sign) {
					t.Errorf("%s: a name brings %s into\n%s", name, sign, got)
				}
			}
		}
	}
}

// statements are those of a dashboard's panels, annotations and variables.
func statements(d grafana.Dashboard) (all []string) {
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			all = append(all, q.RawSQL)
		}
	}
	for _, a := range d.Annotations.List {
		all = append(all, a.Target.RawSQL)
	}
	for _, v := range d.Templating.List {
		if v.Datasource == grafana.ClickHouse {
			all = append(all, v.Definition())
		}
	}
	return all
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
