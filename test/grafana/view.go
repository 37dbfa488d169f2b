package grafana

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// View expands a panel's queries as Grafana and its data sources do, for a time range and the values that a user has chosen.
type View struct {
	From, To time.Time
	// Chosen has the values of the variables; a variable that is not in it has the value All.
	Chosen map[string][]string
}

// In returns chosen values together with the cluster, if the dashboard is about one and has no All.
func (d Dashboard) In(cluster string, chosen map[string][]string) map[string][]string {
	all := maps.Clone(chosen)
	for _, v := range d.Templating.List {
		if v.Name == "cluster" && !v.IncludeAll {
			all["cluster"] = []string{cluster}
		}
	}
	return all
}

// PromQL expands a query to Prometheus. The values of a variable become a regular expression.
func (v View) PromQL(d Dashboard, expr string) string {
	pairs := []string{
		"$__rate_interval", "1m",
		"$__range", fmt.Sprintf("%ds", int(v.To.Sub(v.From).Seconds())),
		"$__interval", fmt.Sprintf("%ds", max(1, int(v.To.Sub(v.From).Seconds())/500)), // of a panel with so many points
	}
	for _, of := range d.Templating.List {
		value := of.AllValue
		if chosen := v.Chosen[of.Name]; len(chosen) == 1 {
			value = chosen[0]
		} else if len(chosen) > 1 {
			value = "(" + strings.Join(chosen, "|") + ")"
		}
		pairs = append(pairs, "$"+of.Name, value)
	}
	return longestFirst(pairs).Replace(expr)
}

// longestFirst makes a replacer that prefers the longer one of two names with the same beginning, as $namespace and $name.
func longestFirst(pairs []string) *strings.Replacer {
	by := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		by[pairs[i]] = pairs[i+1]
	}
	names := slices.SortedFunc(maps.Keys(by), func(a, b string) int { return len(b) - len(a) })
	var sorted []string
	for _, name := range names {
		sorted = append(sorted, name, by[name])
	}
	return strings.NewReplacer(sorted...)
}

// percentEncoded is a value in the formats percentencode and queryparam: all is encoded but letters, digits and -_.~
func percentEncoded(value string) string {
	return strings.ReplaceAll(url.QueryEscape(value), "+", "%20")
}

// SQL knows only those formats of variables of which a value cannot end the text that it is in: sqlstring doubles quotes, and ClickHouse takes
// \' for a quote, too. It expands a statement in the order in which the ClickHouse data source does: first $__conditionalAll, then the variables, both
// in the browser; then the macros of the time range, in the plugin's backend.
func (v View) SQL(d Dashboard, statement string) (string, error) {
	statement, err := v.conditionalAll(statement)
	if err != nil {
		return "", err
	}
	var pairs []string
	for _, of := range d.Templating.List {
		var values, parameters []string
		for _, value := range v.Chosen[of.Name] {
			values = append(values, percentEncoded(value))
			parameters = append(parameters, "var-"+of.Name+"="+percentEncoded(value))
		}
		pairs = append(pairs, "${"+of.Name+":queryparam}", strings.Join(parameters, "&"))
		if !of.Multi {
			pairs = append(pairs, "${"+of.Name+":percentencode}", strings.Join(values, ""))
		}
	}
	statement = macro.ReplaceAllStringFunc(longestFirst(pairs).Replace(statement), v.macro)
	if rest := unexpanded.FindString(statement); rest != "" {
		return "", fmt.Errorf("%s is no macro and no variable", rest)
	}
	return statement, nil
}

var (
	macro      = regexp.MustCompile(`\$__(fromTime|toTime)\b|\$__(timeFilter|timeInterval)\(([\w.]+)\)`)
	unexpanded = regexp.MustCompile(`\$(\w+|\{[^}]*\})`)
)

// macro expands one macro of the time range. The plugin sends whole seconds.
func (v View) macro(text string) string {
	m := macro.FindStringSubmatch(text)
	from, to := fmt.Sprintf("toDateTime(%d)", v.From.Unix()), fmt.Sprintf("toDateTime(%d)", v.To.Unix())
	switch {
	case m[1] == "fromTime":
		return from
	case m[1] == "toTime":
		return to
	case m[2] == "timeFilter":
		return fmt.Sprintf("%s >= %s AND %s <= %s", m[3], from, m[3], to)
	default:
		return fmt.Sprintf("toStartOfInterval(toDateTime(%s), INTERVAL 60 second)", m[3])
	}
}

// conditionalAll replaces $__conditionalAll(condition, $variable) by the condition, or by 1=1 if all values of the variable are
// chosen. The plugin counts parentheses and commas, and knows nothing of strings.
func (v View) conditionalAll(statement string) (string, error) {
	const name = "$__conditionalAll("
	for {
		start := strings.LastIndex(statement, name)
		if start < 0 {
			return statement, nil
		}
		depth, comma, end := 1, -1, -1
		for i := start + len(name); i < len(statement) && end < 0; i++ {
			switch statement[i] {
			case '(':
				depth++
			case ')':
				if depth--; depth == 0 {
					end = i
				}
			case ',':
				if depth == 1 && comma >= 0 {
					return "", fmt.Errorf("$__conditionalAll has more than two arguments: %s", statement[start:i+1])
				} else if depth == 1 {
					comma = i
				}
			}
		}
		if comma < 0 || end < 0 {
			return "", fmt.Errorf("$__conditionalAll has no second argument: %s", statement[start:])
		}
		condition := statement[start+len(name) : comma]
		if v.Chosen[strings.TrimPrefix(strings.TrimSpace(statement[comma+1:end]), "$")] == nil {
			condition = "1=1"
		}
		statement = statement[:start] + condition + statement[end+1:]
	}
}
