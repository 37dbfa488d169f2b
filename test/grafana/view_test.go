package grafana

import (
	"testing"
	"time"
)

// TestGrafanaExpandsMacros compares with what the plugin's documentation says that it sends.
func TestGrafanaExpandsMacros(t *testing.T) {
	t.Parallel()
	var d Dashboard
	d.Templating.List = []Variable{{Name: "namespace", Multi: true}, {Name: "cluster", Multi: true}, {Name: "volume"}}
	at := time.Unix(1700000000, 0)
	for _, test := range []struct {
		chosen          map[string][]string
		statement, want string
	}{
		{nil, "a WHERE $__timeFilter(at)", "a WHERE at >= toDateTime(1700000000) AND at <= toDateTime(1700003600)"},
		{nil, "toDate($__fromTime) < $__toTime - 1", "toDate(toDateTime(1700000000)) < toDateTime(1700003600) - 1"},
		{nil, "$__timeInterval(at)", "toStartOfInterval(toDateTime(at), INTERVAL 60 second)"},
		{nil, "$__conditionalAll(f(n, '${namespace:queryparam}'), $namespace) AND b", "1=1 AND b"},
		{
			map[string][]string{"namespace": {"a", `o'b\'c`}},
			"$__conditionalAll(f(n, '${namespace:queryparam}'), $namespace) AND $__conditionalAll(c = '${cluster:queryparam}', $cluster)",
			"f(n, 'var-namespace=a&var-namespace=o%27b%5C%27c') AND 1=1",
		},
		{map[string][]string{"volume": {`a\'b" (c)!*~&+`}}, "n = '${volume:percentencode}'", "n = 'a%5C%27b%22%20%28c%29%21%2A~%26%2B'"},
	} {
		got, err := View{at, at.Add(time.Hour), test.chosen}.SQL(d, test.statement)
		if err != nil || got != test.want {
			t.Errorf("%s\n got %s %v\nwant %s", test.statement, got, err, test.want)
		}
	}
	for _, statement := range []string{
		"$__conditionalAll(a)", "$__conditionalAll(f(a), b, c)", "SELECT ${other}", "$__nothing", "n = ${volume:sqlstring}", "n = '$volume'", "n IN '${namespace:percentencode}'",
	} {
		if got, err := (View{From: at, To: at}).SQL(d, statement); err == nil {
			t.Errorf("%s: expanded to %s", statement, got)
		}
	}
}
