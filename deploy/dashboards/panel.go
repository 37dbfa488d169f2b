package main

import (
	"fmt"
	"strings"
)

// board is a dashboard: one question, and the panels that answer it.
type board struct {
	name     string // of the file; the uid is kubevoltracker-NAME
	title    string
	question string
	from     string // the default time range is from here until now
	refresh  string // empty where reloading would only cost the database
	choices  []choice
	notes    []note
	rows     []row
}

// row is a group of panels under a heading.
type row struct {
	title  string
	panels []panel
}

// kind is Grafana's name for a type of panel.
type kind string

const (
	figure kind = "stat"
	bars   kind = "bargauge"
	lines  kind = "timeseries"
	list   kind = "table"
	states kind = "state-timeline"
)

// panel is one panel. The panels of a row follow each other from left to right; one that does not fit begins a new line.
type panel struct {
	kind               kind
	title, description string
	unit               string
	width, height      int
	queries            []query
	// columns lists what a table's columns show, as NAME:UNIT, NAME>DASHBOARD for a link, or NAME-, which hides the column.
	columns string
	// sortBy is the column by which a table is sorted, descending.
	sortBy string
	// steps are thresholds: from the value on, the color.
	steps []step
	// values name the values of a state or of a stat.
	values map[string]value
	// stacked draws the lines on top of each other.
	stacked bool
	// merged joins the answers of several queries into one table by the columns that they have in common.
	merged map[string]string
	// dropped are columns of that table that are not shown.
	dropped []string
	// link is the dashboard that a stat or a graph leads to.
	link string
}

type step struct {
	from  float64
	color string
}

type value struct{ text, color string }

// query is one question to Prometheus or to ClickHouse.
type query struct {
	expr, sql string
	ref       string // A, B, ... where it is empty
	legend    string
	instant   bool // at the end of the chosen time only
	table     bool // columns as they are, no series
}

// overTime asks Prometheus for a series over the chosen time.
func overTime(expr, legend string) query { return query{expr: expr, legend: legend} }

// now asks Prometheus for the values at the end of the chosen time.
func now(expr, legend string) query { return query{expr: expr, legend: legend, instant: true} }

// series asks ClickHouse for series: a column time, texts that name the series, and numbers.
func series(sql string) query { return query{sql: tidy(sql)} }

// rowsOf asks ClickHouse for rows.
func rowsOf(sql string) query { return query{sql: tidy(sql), table: true} }

// tidy takes the indentation of the Go code out of a statement.
func tidy(sql string) string {
	text := strings.Split(strings.Trim(sql, "\n"), "\n")
	indent := len(text[0]) - len(strings.TrimLeft(text[0], "\t"))
	for i, line := range text {
		text[i] = strings.TrimRight(strings.TrimPrefix(line, strings.Repeat("\t", min(indent, len(line)))), " \t")
	}
	return strings.ReplaceAll(strings.TrimSpace(strings.Join(text, "\n")), "\t", "  ")
}

// choice is a variable at the top of a dashboard.
type choice struct {
	name, label string
	expr        string // label_values(...) of Prometheus
	sql         string // or a statement of ClickHouse
	one         bool   // exactly one value; else any number of them, or all
	orAll       bool   // with one: or all values, if a person chooses that
	inOrder     bool   // Grafana lists the values as the answer has them; else it sorts them
	// onLoad asks for the values when the dashboard is opened, and not each time that the chosen time changes: Grafana would then
	// replace a value that a link has set by the first one of the list, if the list does not have it.
	onLoad bool
}

// note is a line in the graphs for each row of a statement that returns time and text.
type note struct{ name, sql string }

// theOne is the value of a variable that has exactly one, in a statement. Whoever creates a pod chooses names, so the value must not end the text
// that it is in. Grafana's format percentencode has neither quotes nor backslashes. The format sqlstring is for databases in which a backslash
// is a character like others; in ClickHouse it escapes the quote that sqlstring doubles.
func theOne(variable string) string {
	return "decodeURLComponent('${" + variable + ":percentencode}')"
}

// among is a statement's condition that a column has one of the values of a variable that are chosen, and none if All is.
// Grafana's format queryparam is var-NAME=VALUE&var-NAME=VALUE, with values that are encoded as those of theOne. A value can
// contain &var-NAME= once it is decoded, but not the byte FF, which UTF-8 never has: that byte separates the decoded values.
// ClickHouse evaluates all of this once and uses the primary key, which it does not do with arrayMap.
func among(column, variable string) string {
	name := "var-" + variable + "="
	encoded := fmt.Sprintf("replaceAll(substring('${%s:queryparam}', %d), '&%s', '%%FF')", variable, len(name)+1, name)
	values := `splitByString('\xFF', decodeURLFormComponent(` + encoded + "))"
	return "$__conditionalAll(" + column + " IN " + values + ", $" + variable + ")"
}

// Conditions of statements on what is chosen.
var (
	inCluster   = among("cluster", "cluster")
	inNamespace = among("namespace", "namespace")
	inBoth      = inCluster + " AND " + inNamespace
	inClass     = among("storage_class", "storageclass")
)

// inDays is a statement's condition on the days of the chosen time. The days of the catalog are in UTC, a ClickHouse server may have another zone.
const inDays = `day BETWEEN toDate($__fromTime, 'UTC') AND toDate($__toTime, 'UTC')`

// chosen are a metric's labels with the cluster, the namespaces and the classes that are chosen.
const (
	ofCluster   = `cluster=~"$cluster"`
	ofNamespace = ofCluster + `, namespace=~"$namespace"`
	ofClass     = ofNamespace + `, storageclass=~"$storageclass"`
)

// Series that say that a figure is known, be it 0: complete are those of trackers whose lists are complete. perVolume are
// those of volumes, and those of complete lists without a volume; a cluster with volumes has none of them if
// --no-metrics.per-volume is set.
const (
	complete  = `kubevoltracker_ready{` + ofCluster + `} == 1`
	perVolume = `kubevoltracker_volume_state{` + ofCluster + `} or kubevoltracker_inventory_objects{` + ofCluster + `, kind="PersistentVolume"} == 0 and ignoring (kind) ` + complete
)

// orZero is 0 instead of nothing while there are certain series, which say that the expression could have had a value. Otherwise a panel without a
// tracker would show that all is well.
func orZero(expr, whileThereAre string) string { return expr + " or 0 * count(" + whileThereAre + ")" }

// The variables. Those of cluster and namespace come from Prometheus; the catalog has the same names, if the label cluster of a
// tracker's target is its --cluster.name.
var (
	cluster = choice{name: "cluster", label: "Cluster", expr: `label_values(kubevoltracker_build_info, cluster)`}
	// A namespace can have no claim any more, and volumes that were released from it.
	namespace    = choice{name: "namespace", label: "Namespace", expr: `label_values({__name__=~"kubevoltracker_namespace_claims|kubevoltracker_volume_info", ` + ofCluster + `}, namespace)`}
	storageclass = choice{name: "storageclass", label: "Storage class", expr: `label_values(kubevoltracker_volumes_created_total{` + ofCluster + `}, storageclass)`}
)

// quantile returns a quantile of a histogram's last values, of the labels that distinguish its series. Prometheus stores it as classic buckets or as
// a native histogram: the first expression is of those, the second of these, which two trackers double, and which has the same quantile then.
func quantile(q float64, name, labels, filter string) string {
	rate := func(suffix string) string {
		return "rate(kubevoltracker_" + name + suffix + "{" + filter + "}[$__rate_interval])"
	}
	return fmt.Sprintf("histogram_quantile(%[1]g, sum by (le) (max by (%[2]s, le) (%[3]s))) or histogram_quantile(%[1]g, sum(%[4]s))", q, labels, rate("_bucket"), rate(""))
}

// ofTrackers is the operator that chooses between the values that two trackers have for one volume. The smaller idle time counts, as
// the tracker that saw the last use is right; of all else the larger value.
func ofTrackers(metric string) string {
	if strings.HasPrefix(metric, "idle_") {
		return "min"
	}
	return "max"
}

// perNamespace returns a metric per namespace and class. Two trackers of a cluster count once.
func perNamespace(name string) string {
	return "max by (cluster, namespace, storageclass) (kubevoltracker_namespace_" + name + "{" + ofClass + "})"
}
