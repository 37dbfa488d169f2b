package grafana

import (
	"testing"
	"time"
)

// TestGrafanaExpandsMacros compares with what the plugin's documentation says that it sends.
func TestGrafanaExpandsMacros(t *testing.T) {
	t.Parallel()
	var d Dashboard
	d.Templating.List = []Variable{{Name: "namespace"}, {Name: "cluster"}}
	at := time.Unix(1700000000, 0)
	for _, test := range []struct {
		chosen          map[string][]string
		statement, want string
	}{
		{nil, "a WHERE $__timeFilter(at)", "a WHERE at >= toDateTime(1700000000) AND at <= toDateTime(1700003600)"},
		{nil, "toDate($__fromTime) < $__toTime - 1", "toDate(toDateTime(1700000000)) < toDateTime(1700003600) - 1"},
		{nil, "$__timeInterval(at)", "toStartOfInterval(toDateTime(at), INTERVAL 60 second)"},
		{nil, "$__conditionalAll(n IN (${namespace:sqlstring}), $namespace) AND b", "1=1 AND b"},
		{map[string][]string{"namespace": {"a", "o'b"}}, "$__conditionalAll(n IN (${namespace:sqlstring}), $namespace) AND $__conditionalAll(c IN (${cluster:sqlstring}), $cluster)", "n IN ('a','o''b') AND 1=1"},
	} {
		got, err := View{at, at.Add(time.Hour), test.chosen}.SQL(d, test.statement)
		if err != nil || got != test.want {
			t.Errorf("%s\n got %s %v\nwant %s", test.statement, got, err, test.want)
		}
	}
	for _, statement := range []string{"$__conditionalAll(a)", "$__conditionalAll(f(a), b, c)", "SELECT ${other}", "$__nothing"} {
		if got, err := (View{From: at, To: at}).SQL(d, statement); err == nil {
			t.Errorf("%s: expanded to %s", statement, got)
		}
	}
}
