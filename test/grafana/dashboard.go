package grafana

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// Directory has what users install.
const Directory = "dashboards"

// Order is the order of dashboards/README.md.
var Order = []string{"overview", "idle", "namespace", "volume", "workload", "backends", "growth", "tracker"}

// Dashboard is the part of a Grafana dashboard that the tests look at.
type Dashboard struct {
	UID, Title, Description string
	Templating              struct{ List []Variable }
	Annotations             struct {
		List []struct {
			Name       string
			Datasource DataSource
			Target     Target
		}
	}
	Links  []struct{ Type, URL string }
	Time   struct{ From string }
	Panels []Panel
}

// Since returns how long the default time of a dashboard is: now-30d is 30 days.
func (d Dashboard) Since(t testing.TB) time.Duration {
	t.Helper()
	var n int
	var unit string
	if _, err := fmt.Sscanf(d.Time.From, "now-%d%1s", &n, &unit); err != nil || (unit != "d" && unit != "h") {
		t.Fatalf("%s: no time %q: %v", d.UID, d.Time.From, err)
	}
	if unit == "d" {
		n *= 24
	}
	return time.Duration(n) * time.Hour
}

// Variable is a variable at the top of a dashboard.
type Variable struct {
	Name, Type, AllValue string
	Multi, IncludeAll    bool
	Datasource           DataSource
	Query                any
}

// Definition returns what a variable asks: Prometheus' form of it is in a map.
func (v Variable) Definition() string {
	if form, ok := v.Query.(map[string]any); ok {
		return fmt.Sprint(form["query"])
	}
	return fmt.Sprint(v.Query)
}

// Panel is one panel, or the heading of a row.
type Panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ X, Y, W, H int }
	Datasource               DataSource
	FieldConfig              struct {
		Defaults struct {
			Unit  string
			Links []struct{ URL string }
		}
		Overrides []struct {
			Matcher    struct{ ID, Options string }
			Properties []struct {
				ID    string
				Value any
			}
		}
	}
	Options struct {
		SortBy []struct{ DisplayName string }
	}
	Transformations []struct {
		ID      string
		Options struct{ RenameByName map[string]string }
	}
	Targets []Target
}

// Target is one query: Expr for Prometheus, or RawSQL for ClickHouse.
type Target struct {
	RefID, Expr, LegendFormat, RawSQL, Format string
	Instant                                   bool
	Datasource                                DataSource
	QueryType                                 string
}

// UnmarshalJSON reads the format, which is a text for Prometheus and a number for ClickHouse.
func (q *Target) UnmarshalJSON(text []byte) error {
	type plain Target
	var form struct {
		*plain
		Format any
	}
	form.plain = (*plain)(q)
	if err := json.Unmarshal(text, &form); err != nil {
		return err
	}
	if s, ok := form.Format.(string); ok {
		q.Format = s
	}
	return nil
}

// DataSource names a data source by its plugin and its uid.
type DataSource struct{ Type, UID string }

// The data sources that a user chooses at the top of a dashboard.
var (
	Prometheus = DataSource{"prometheus", "${datasource}"}
	ClickHouse = DataSource{"grafana-clickhouse-datasource", "${clickhouse}"}
)

// Dashboards reads the dashboards of the project, by name of the file.
func Dashboards(t testing.TB) map[string]Dashboard {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(harness.File(t, Directory), "*.json"))
	if err != nil || len(paths) != len(Order) {
		t.Fatalf("%d dashboards in %s, want %d: %v", len(paths), Directory, len(Order), err)
	}
	all := map[string]Dashboard{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var d Dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all[strings.TrimSuffix(filepath.Base(path), ".json")] = d
	}
	return all
}
