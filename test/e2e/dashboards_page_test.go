package e2e

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	texttemplate "text/template"
	"time"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	"github.com/prometheus/common/model"

	"github.com/kubevoltracker/kubevoltracker/test/grafana"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

const dashboardsPagePath = "dashboards/README.md"

// dashboardsPage gathers what the queries of the dashboards grafana.Answer, for dashboards/README.md.
type dashboardsPage struct {
	asked map[string]bool
	// By dashboard and panel: the grafana.Answer, and why there is none.
	answers, reasons map[string]string
	// The answers of several queries that make one table, or one legend.
	joined  map[string][]grafana.Answer
	legends map[string][][]string
}

func newDashboardsPage() *dashboardsPage {
	return &dashboardsPage{asked: map[string]bool{}, answers: map[string]string{}, reasons: map[string]string{}, joined: map[string][]grafana.Answer{}, legends: map[string][][]string{}}
}

// fewRows and fewColumns are how much of an answer is shown.
const (
	fewRows    = 4
	fewColumns = 8
)

// sample keeps the answer of one query of a panel.
func (d *dashboardsPage) sample(name string, p grafana.Panel, q grafana.Target, a grafana.Answer, v model.Vector, reason string) {
	key := name + "/" + p.Title
	switch {
	case reason != "":
		if d.answers[key] == "" {
			d.reasons[key] = reason
		}
		return
	case q.RawSQL != "" && p.Type == "stat":
		if len(a.Rows) > 0 {
			d.answers[key] = shown(a.Rows[0][len(a.Rows[0])-1], p.FieldConfig.Defaults.Unit)
		}
	case q.RawSQL != "" && q.QueryType == "timeseries":
		d.answers[key] = lastOfSeries(p, a)
	case q.RawSQL != "":
		d.answers[key] = tableShown(p, a)
	case q.Format == "table":
		d.joined[key] = append(d.joined[key], tableOf(q, v))
		d.answers[key] = tableShown(p, join(d.joined[key], renames(p)))
	default:
		d.legends[key] = append(d.legends[key], legend(p, q, v)...)
		d.answers[key] = aligned(d.legends[key])
	}
	delete(d.reasons, key)
}

// legend returns a row for each series: its name, and its value now.
func legend(p grafana.Panel, q grafana.Target, v model.Vector) (rows [][]string) {
	slices.SortFunc(v, func(a, b *model.Sample) int { return strings.Compare(a.Metric.String(), b.Metric.String()) })
	for _, s := range v[:min(len(v), fewRows)] {
		name := legendName.ReplaceAllStringFunc(q.LegendFormat, func(m string) string {
			return string(s.Metric[model.LabelName(legendName.FindStringSubmatch(m)[1])])
		})
		row := []string{strings.TrimSpace(name), shown(float64(s.Value), p.FieldConfig.Defaults.Unit)}
		if row[0] == "" { // one number
			row = row[1:]
		}
		rows = append(rows, row)
	}
	return rows
}

// lastOfSeries writes the last value of each series that ClickHouse returns.
func lastOfSeries(p grafana.Panel, a grafana.Answer) string {
	var order []string
	last := map[string]string{}
	for _, row := range a.Rows {
		name := ""
		for i, v := range row[1:] {
			if text, ok := v.(string); ok {
				name += text + " "
				continue
			}
			key := strings.TrimSpace(name)
			if name == "" {
				key = a.Columns[i+1]
			}
			if _, known := last[key]; !known {
				order = append(order, key)
			}
			last[key] = shown(v, p.FieldConfig.Defaults.Unit)
		}
	}
	var rows [][]string
	for _, key := range order[:min(len(order), fewRows)] {
		rows = append(rows, []string{key, last[key]})
	}
	return aligned(rows)
}

// tableOf makes a table of an instant answer of Prometheus, as Grafana does.
func tableOf(q grafana.Target, v model.Vector) (a grafana.Answer) {
	for _, s := range v {
		for l := range s.Metric {
			if !slices.Contains(a.Columns, string(l)) {
				a.Columns = append(a.Columns, string(l))
			}
		}
	}
	slices.Sort(a.Columns)
	for _, s := range v {
		var row []any
		for _, l := range a.Columns {
			row = append(row, string(s.Metric[model.LabelName(l)]))
		}
		a.Rows = append(a.Rows, append(row, float64(s.Value)))
	}
	a.Columns = append(a.Columns, "Value #"+q.RefID)
	return a
}

// join joins the second and the following tables to the first one by the columns that they have in common.
func join(all []grafana.Answer, rename map[string]string) grafana.Answer {
	joined := grafana.Answer{Columns: slices.Clone(all[0].Columns)}
	for _, row := range all[0].Rows {
		joined.Rows = append(joined.Rows, slices.Clone(row))
	}
	for _, other := range all[1:] {
		value := len(other.Columns) - 1
		var more []int // the columns that the table does not have yet
		for c, column := range other.Columns {
			if !slices.Contains(joined.Columns, column) {
				more = append(more, c)
			}
		}
		for i, row := range joined.Rows {
			found := make([]any, len(more))
			for _, candidate := range other.Rows {
				same := true
				for c, column := range other.Columns[:value] {
					if at := slices.Index(joined.Columns, column); at >= 0 && row[at] != candidate[c] {
						same = false
					}
				}
				if same {
					for n, c := range more {
						found[n] = candidate[c]
					}
				}
			}
			joined.Rows[i] = append(row, found...)
		}
		for _, c := range more {
			joined.Columns = append(joined.Columns, other.Columns[c])
		}
	}
	for i, c := range joined.Columns {
		if to, ok := rename[c]; ok {
			joined.Columns[i] = to
		}
	}
	return joined
}

func renames(p grafana.Panel) map[string]string {
	for _, change := range p.Transformations {
		if change.Options.RenameByName != nil {
			return change.Options.RenameByName
		}
	}
	return nil
}

// tableShown writes the first rows and columns of a table, with the headings, units and hidden columns of the panel.
func tableShown(p grafana.Panel, a grafana.Answer) string {
	var rows [][]string
	var order []int
	var headings, units []string
	for _, o := range p.FieldConfig.Overrides {
		heading, unit, hidden := "", p.FieldConfig.Defaults.Unit, false
		for _, property := range o.Properties {
			switch property.ID {
			case "displayName":
				heading = fmt.Sprint(property.Value)
			case "unit":
				unit = fmt.Sprint(property.Value)
			case "custom.hidden":
				hidden = true
			}
		}
		if at := slices.Index(a.Columns, o.Matcher.Options); at >= 0 && !hidden && len(order) < fewColumns {
			order, headings, units = append(order, at), append(headings, heading), append(units, unit)
		}
	}
	if order == nil { // bars
		for i, c := range a.Columns {
			order, headings, units = append(order, i), append(headings, c), append(units, p.FieldConfig.Defaults.Unit)
		}
	}
	rows = append(rows, headings)
	for _, row := range a.Rows[:min(len(a.Rows), fewRows)] {
		var cells []string
		for i, at := range order {
			cells = append(cells, shown(row[at], units[i]))
		}
		rows = append(rows, cells)
	}
	return aligned(rows)
}

// generated are the parts of names that differ from run to run.
var generated = regexp.MustCompile(`(pvc-[0-9a-f]{4})[0-9a-f]{4}-[0-9a-f-]{27}`)

// shown writes a value as Grafana does for a unit.
func shown(v any, unit string) string {
	switch v := v.(type) {
	case nil:
		return "-"
	case time.Time:
		return v.UTC().Format(time.DateTime)
	case string:
		if v == "" {
			return "-"
		}
		return generated.ReplaceAllString(v, "$1…")
	case bool:
		return fmt.Sprint(v)
	}
	var f float64
	if _, err := fmt.Sscan(fmt.Sprint(v), &f); err != nil || math.IsNaN(f) {
		return fmt.Sprint(v)
	}
	switch unit {
	case "bytes":
		if f < 0 {
			return "-" + humanize.IBytes(uint64(-f))
		}
		return humanize.IBytes(uint64(f))
	case "s":
		return time.Duration(f * float64(time.Second)).Round(time.Millisecond).String()
	case "percentunit":
		return fmt.Sprintf("%.1f %%", f*100)
	case "dateTimeFromNow":
		return time.UnixMilli(int64(f)).UTC().Format(time.DateTime)
	}
	return fmt.Sprintf("%.4g", f+0) // no -0
}

// aligned writes rows with their columns below each other.
func aligned(rows [][]string) string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var lines []string
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			line += cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+3)
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return strings.Join(lines, "\n")
}

// compare compares dashboards/README.md with the dashboards, without the samples, which differ from run to run. -update writes the page.
func (d *dashboardsPage) compare(t *testing.T, all map[string]grafana.Dashboard) {
	t.Helper()
	type shownPanel struct{ Title, Description, Sample, Reason string }
	type shownBoard struct {
		Name, Title, Anchor, Question string
		Panels                        []shownPanel
	}
	var boards []shownBoard
	for _, name := range grafana.Order {
		b := shownBoard{Name: name, Title: strings.TrimPrefix(all[name].Title, "Storage usage / "), Question: all[name].Description}
		b.Anchor = strings.ReplaceAll(strings.ToLower(b.Title), " ", "-")
		for _, p := range all[name].Panels {
			if p.Type != "row" {
				key := name + "/" + p.Title
				b.Panels = append(b.Panels, shownPanel{p.Title, p.Description, d.answers[key], d.reasons[key]})
			}
		}
		boards = append(boards, b)
	}
	page, err := texttemplate.ParseFiles("testdata/dashboards.md.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := page.Execute(&got, boards); err != nil {
		t.Fatal(err)
	}
	path := harness.File(t, dashboardsPagePath)
	if *update && !t.Failed() {
		if err := os.WriteFile(path, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	samples := regexp.MustCompile("(?ms)^```\n.*?^```\n")
	if !bytes.Equal(samples.ReplaceAll(got.Bytes(), nil), samples.ReplaceAll(want, nil)) {
		t.Errorf("%s is out of date: go test ./test/e2e -run DashboardsAnswer -update", dashboardsPagePath)
	}
}
