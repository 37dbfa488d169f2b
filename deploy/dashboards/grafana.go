package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/bargauge"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

const (
	uidPrefix = "kubevoltracker-"
	tag       = "kubevoltracker"
	// schemaVersion is that of Grafana 11.0. Later versions migrate it when they load a dashboard.
	schemaVersion = 39
	// pluginVersion is the first version of the ClickHouse data source with this form of a query.
	pluginVersion = "4.0.0"
	width         = 24 // of the grid
)

// The data sources are those that the user chooses at the top of a dashboard.
var (
	inPrometheus = common.DataSourceRef{Type: ptr("prometheus"), Uid: ptr("${datasource}")}
	inClickHouse = common.DataSourceRef{Type: ptr("grafana-clickhouse-datasource"), Uid: ptr("${clickhouse}")}
)

func ptr[T any](v T) *T { return &v }

// clickhouseQuery is a query as the ClickHouse data source saves it. The SDK does not have it.
type clickhouseQuery struct {
	Datasource    common.DataSourceRef `json:"datasource"`
	EditorType    string               `json:"editorType"`
	Format        int                  `json:"format"` // 0 for series, 1 for a table
	PluginVersion string               `json:"pluginVersion"`
	QueryType     string               `json:"queryType"`
	RawSQL        string               `json:"rawSql"`
	RefID         string               `json:"refId"`
}

func (clickhouseQuery) ImplementsDataqueryVariant() {}
func (clickhouseQuery) DataqueryType() string       { return "grafana-clickhouse-datasource" }
func (clickhouseQuery) Validate() error             { return nil }
func (q clickhouseQuery) Equals(other variants.Dataquery) (eq bool) {
	return variants.Dataquery(q) == other
}

// dashboard converts a board into Grafana's form.
func (b board) dashboard() dashboard.Dashboard {
	d := dashboard.Dashboard{
		Uid: ptr(uidPrefix + b.name), Title: ptr("Storage usage / " + b.title), Description: ptr(b.question),
		Tags: []string{"kubernetes", "storage", tag}, Timezone: ptr("browser"), Editable: ptr(true),
		GraphTooltip: ptr(dashboard.DashboardCursorSyncCrosshair), SchemaVersion: schemaVersion,
		Time: &dashboard.DashboardDashboardTime{From: b.from, To: "now"},
		Links: []dashboard.DashboardLink{
			{Title: "Storage usage", Type: dashboard.DashboardLinkTypeDashboards, Icon: "external link", Tags: []string{tag}, AsDropdown: true, IncludeVars: true, KeepTime: true},
			{Title: "What the panels show", Type: dashboard.DashboardLinkTypeLink, Icon: "doc", Tags: []string{}, TargetBlank: true,
				Url: ptr("https://github.com/kubevoltracker/kubevoltracker/blob/main/dashboards/README.md#" + strings.ReplaceAll(strings.ToLower(b.title), " ", "-"))},
		},
	}
	if b.refresh != "" {
		d.Refresh = ptr(b.refresh)
	}
	d.Templating.List = append(d.Templating.List, dataSource("datasource", "Prometheus", "prometheus"))
	if b.asksClickHouse() {
		d.Templating.List = append(d.Templating.List, dataSource("clickhouse", "ClickHouse", "grafana-clickhouse-datasource"))
	}
	for _, c := range b.choices {
		d.Templating.List = append(d.Templating.List, c.variable())
	}
	for _, n := range b.notes {
		target := rowsOf(n.sql).clickhouse("Anno")
		d.Annotations.List = append(d.Annotations.List, dashboard.AnnotationQuery{
			Name: n.name, Enable: true, IconColor: "blue", Datasource: &inClickHouse, Target: target,
		})
	}
	d.Panels = b.layout()
	return d
}

func (b board) asksClickHouse() bool {
	for _, r := range b.rows {
		for _, p := range r.panels {
			if p.queries[0].sql != "" {
				return true
			}
		}
	}
	return false
}

// layout gives each panel its place and its id.
func (b board) layout() (all []dashboard.PanelOrRowPanel) {
	y, id := 0, 0
	for _, r := range b.rows {
		if r.title != "" {
			id++
			all = append(all, dashboard.PanelOrRowPanel{RowPanel: &dashboard.RowPanel{
				Type: "row", Title: ptr(r.title), Id: uint32(id), Panels: []dashboard.Panel{}, GridPos: &dashboard.GridPos{H: 1, W: width, Y: uint32(y)},
			}})
			y++
		}
		x, tallest := 0, 0
		for _, p := range r.panels {
			if x+p.width > width {
				x, y, tallest = 0, y+tallest, 0
			}
			id++
			drawn := p.draw(b.asksClickHouse())
			drawn.Id, drawn.GridPos = ptr(uint32(id)), &dashboard.GridPos{H: uint32(p.height), W: uint32(p.width), X: uint32(x), Y: uint32(y)}
			all = append(all, dashboard.PanelOrRowPanel{Panel: &drawn})
			x, tallest = x+p.width, max(tallest, p.height)
		}
		y += tallest
	}
	return all
}

func dataSource(name, label, plugin string) dashboard.VariableModel {
	return dashboard.VariableModel{Type: dashboard.VariableTypeDatasource, Name: name, Label: &label, Query: &dashboard.StringOrMap{String: &plugin}}
}

// variable converts a choice. All is .* for Prometheus; a statement for ClickHouse leaves the condition out.
func (c choice) variable() dashboard.VariableModel {
	v := dashboard.VariableModel{
		Type: dashboard.VariableTypeQuery, Name: c.name, Label: &c.label,
		Refresh: ptr(dashboard.VariableRefreshOnTimeRangeChanged), Sort: ptr(dashboard.VariableSortAlphabeticalAsc),
	}
	if c.onLoad {
		v.Refresh = ptr(dashboard.VariableRefreshOnDashboardLoad)
	}
	if c.inOrder {
		v.Sort = ptr(dashboard.VariableSortDisabled)
	}
	if c.sql != "" {
		sql := tidy(c.sql)
		v.Datasource, v.Query = &inClickHouse, &dashboard.StringOrMap{String: &sql}
	} else {
		v.Datasource, v.Query = &inPrometheus, &dashboard.StringOrMap{Map: map[string]any{"query": c.expr, "refId": c.name}}
	}
	if c.one && !c.orAll {
		return v
	}
	v.IncludeAll, v.AllValue = ptr(true), ptr(".*")
	if c.one {
		return v
	}
	v.Multi = ptr(true)
	v.Current = &dashboard.VariableOption{
		Selected: ptr(true), Text: dashboard.StringOrArrayOfString{ArrayOfString: []string{"All"}}, Value: dashboard.StringOrArrayOfString{ArrayOfString: []string{"$__all"}},
	}
	return v
}

// draw converts a panel. Its links carry the ClickHouse data source if its board has one.
func (p panel) draw(withClickHouse bool) dashboard.Panel {
	d := dashboard.Panel{Type: string(p.kind), Title: &p.title, Description: &p.description, Datasource: &inPrometheus}
	if p.queries[0].sql != "" {
		d.Datasource = &inClickHouse
	}
	for i, q := range p.queries {
		ref := q.ref
		if ref == "" {
			ref = string(rune('A' + i))
		}
		if q.sql != "" {
			d.Targets = append(d.Targets, q.clickhouse(ref))
		} else {
			d.Targets = append(d.Targets, q.prometheus(ref))
		}
	}
	fields := dashboard.FieldConfigSource{Defaults: dashboard.FieldConfig{Unit: &p.unit}, Overrides: []dashboard.DashboardFieldConfigSourceOverrides{}}
	if len(p.values) > 0 {
		fields.Defaults.Mappings = []dashboard.ValueMapping{named(p.values)}
	}
	if p.link != "" {
		fields.Defaults.Links = []dashboard.DashboardLink{{Title: "More", Url: ptr(toBoard(p.link, "", withClickHouse)), Type: dashboard.DashboardLinkTypeLink, Tags: []string{}}}
	}
	switch p.kind {
	case figure:
		p.drawStat(&d, &fields)
	case bars:
		p.drawBars(&d, &fields)
	case lines:
		p.drawLines(&d, &fields)
	case list:
		p.drawTable(&d, &fields, withClickHouse)
	case states:
		p.drawStates(&d, &fields)
	}
	d.FieldConfig = &fields
	return d
}

func (q query) clickhouse(ref string) clickhouseQuery {
	c := clickhouseQuery{Datasource: inClickHouse, EditorType: "sql", PluginVersion: pluginVersion, QueryType: "timeseries", RawSQL: q.sql, RefID: ref}
	if q.table {
		c.Format, c.QueryType = 1, "table"
	}
	return c
}

func (q query) prometheus(ref string) prometheus.Dataquery {
	d := prometheus.Dataquery{Datasource: &inPrometheus, Expr: q.expr, RefId: &ref, EditorMode: ptr(prometheus.QueryEditorModeCode)}
	d.Instant, d.Range = ptr(q.instant), ptr(!q.instant)
	if q.legend != "" {
		d.LegendFormat = &q.legend
	}
	if q.table {
		d.Format = ptr(prometheus.PromQueryFormatTable)
	}
	return d
}

var last = common.ReduceDataOptions{Calcs: []string{"lastNotNull"}}

// fromSteps makes thresholds; the first color is that of lower values.
func (p panel) fromSteps(lowest string) *dashboard.ThresholdsConfig {
	t := &dashboard.ThresholdsConfig{Mode: dashboard.ThresholdsModeAbsolute, Steps: []dashboard.Threshold{{Color: lowest}}}
	for _, s := range p.steps {
		t.Steps = append(t.Steps, dashboard.Threshold{Value: ptr(s.from), Color: s.color})
	}
	return t
}

func (p panel) drawStat(d *dashboard.Panel, fields *dashboard.FieldConfigSource) {
	lowest := "text"
	if len(p.steps) > 0 {
		lowest = "green"
	}
	fields.Defaults.Color = &dashboard.FieldColor{Mode: dashboard.FieldColorModeIdThresholds}
	fields.Defaults.Thresholds = p.fromSteps(lowest)
	d.Options = stat.Options{
		GraphMode: common.BigValueGraphModeNone, ColorMode: common.BigValueColorModeValue, JustifyMode: common.BigValueJustifyModeAuto,
		TextMode: common.BigValueTextModeValue, WideLayout: true, ReduceOptions: last, Orientation: common.VizOrientationAuto,
		PercentChangeColorMode: common.PercentChangeColorModeStandard,
	}
}

func (p panel) drawBars(d *dashboard.Panel, fields *dashboard.FieldConfigSource) {
	fields.Defaults.Min = ptr(0.0)
	fields.Defaults.Color = &dashboard.FieldColor{Mode: dashboard.FieldColorModeIdPaletteClassicByName}
	reduce := last
	if p.queries[0].sql != "" { // a bar for each row
		reduce.Values = ptr(true)
	}
	d.Options = bargauge.Options{
		DisplayMode: common.BarGaugeDisplayModeBasic, ValueMode: common.BarGaugeValueModeText, NamePlacement: common.BarGaugeNamePlacementLeft,
		ShowUnfilled: true, Sizing: common.BarGaugeSizingAuto, MinVizWidth: 8, MinVizHeight: 16, MaxVizHeight: 40, Orientation: common.VizOrientationHorizontal,
		ReduceOptions: reduce, Legend: common.VizLegendOptions{DisplayMode: common.LegendDisplayModeList, Placement: common.LegendPlacementBottom, Calcs: []string{}},
	}
}

func (p panel) drawLines(d *dashboard.Panel, fields *dashboard.FieldConfigSource) {
	custom := common.GraphFieldConfig{
		DrawStyle: ptr(common.GraphDrawStyleLine), LineWidth: ptr(1.0), FillOpacity: ptr(10.0), ShowPoints: ptr(common.VisibilityModeNever),
	}
	if p.queries[0].sql != "" { // a value for each day or each change
		custom.ShowPoints, custom.SpanNulls = ptr(common.VisibilityModeAuto), &common.BoolOrFloat64{Bool: ptr(true)}
	}
	if p.stacked {
		custom.FillOpacity = ptr(40.0)
		custom.Stacking = &common.StackingConfig{Mode: ptr(common.StackingModeNormal), Group: ptr("A")}
	}
	fields.Defaults.Custom = custom
	fields.Defaults.Color = &dashboard.FieldColor{Mode: dashboard.FieldColorModeIdPaletteClassic}
	d.Options = timeseries.Options{
		Legend: common.VizLegendOptions{
			DisplayMode: common.LegendDisplayModeTable, Placement: common.LegendPlacementBottom, ShowLegend: true,
			Calcs: []string{"lastNotNull"}, SortBy: ptr("Last *"), SortDesc: ptr(true),
		},
		Tooltip: common.VizTooltipOptions{Mode: common.TooltipDisplayModeMulti, Sort: common.SortOrderDescending},
	}
}

func (p panel) drawStates(d *dashboard.Panel, fields *dashboard.FieldConfigSource) {
	fields.Defaults.Custom = statetimeline.FieldConfig{FillOpacity: ptr(uint32(80)), LineWidth: ptr(uint32(0)), SpanNulls: &statetimeline.BoolOrUint32{Bool: ptr(p.queries[0].sql != "")}}
	fields.Defaults.Color = &dashboard.FieldColor{Mode: dashboard.FieldColorModeIdThresholds}
	fields.Defaults.Thresholds = p.fromSteps("transparent")
	d.Options = statetimeline.Options{
		ShowValue: common.VisibilityModeAuto, RowHeight: 0.8, MergeValues: ptr(true), AlignValue: ptr(common.TimelineValueAlignmentLeft),
		Legend:  common.VizLegendOptions{DisplayMode: common.LegendDisplayModeList, Placement: common.LegendPlacementBottom, Calcs: []string{}},
		Tooltip: common.VizTooltipOptions{Mode: common.TooltipDisplayModeSingle, Sort: common.SortOrderNone},
	}
}

func (p panel) drawTable(d *dashboard.Panel, fields *dashboard.FieldConfigSource, withClickHouse bool) {
	fields.Defaults.Custom = map[string]any{"align": "auto", "filterable": true}
	options := table.Options{ShowHeader: true, CellHeight: ptr(common.TableCellHeightSm)}
	if p.sortBy != "" {
		options.SortBy = []common.TableSortByFieldState{{DisplayName: displayed(p.sortBy), Desc: ptr(true)}}
	}
	d.Options = options
	if p.merged != nil {
		order, dropped := map[string]any{}, map[string]any{"Time": true}
		for _, c := range p.dropped {
			dropped[c] = true
		}
		for i, c := range strings.Fields(p.columns) {
			order[column.FindStringSubmatch(c)[1]] = i
		}
		d.Transformations = []dashboard.DataTransformerConfig{
			{Id: "merge", Options: map[string]any{}},
			{Id: "organize", Options: map[string]any{"excludeByName": dropped, "renameByName": p.merged}},
			{Id: "organize", Options: map[string]any{"indexByName": order}},
		}
	}
	for _, c := range strings.Fields(p.columns) {
		fields.Overrides = append(fields.Overrides, override(c, withClickHouse))
	}
}

var column = regexp.MustCompile(`^(\w+)(?::(\w+))?(?:>(\w+))?(-)?$`)

// override makes a table's column of NAME:UNIT>DASHBOARD or NAME-.
func override(text string, withClickHouse bool) dashboard.DashboardFieldConfigSourceOverrides {
	m := column.FindStringSubmatch(text)
	if m == nil {
		panic("no column: " + text)
	}
	set := []dashboard.DynamicConfigValue{{Id: "displayName", Value: displayed(m[1])}}
	if m[2] != "" {
		set = append(set, dashboard.DynamicConfigValue{Id: "unit", Value: m[2]})
	}
	if m[3] != "" {
		set = append(set, dashboard.DynamicConfigValue{Id: "links", Value: []map[string]any{{"title": "Show the " + m[3], "url": toBoard(m[3], "${__value.raw:percentencode}", withClickHouse)}}})
	}
	if m[4] != "" {
		set = append(set, dashboard.DynamicConfigValue{Id: "custom.hidden", Value: true})
	}
	if m[1] == "state" || m[1] == "phase" {
		set = append(set, dashboard.DynamicConfigValue{Id: "mappings", Value: []dashboard.ValueMapping{named(stateColors)}},
			dashboard.DynamicConfigValue{Id: "custom.cellOptions", Value: map[string]any{"type": "color-text"}})
	}
	return dashboard.DashboardFieldConfigSourceOverrides{Matcher: dashboard.MatcherConfig{Id: "byName", Options: m[1]}, Properties: set}
}

// displayed makes a heading of a column's name.
func displayed(name string) string {
	return strings.ToUpper(name[:1]) + strings.ReplaceAll(name[1:], "_", " ")
}

// toBoard returns the address of a dashboard. With a value it becomes the variable that the dashboard is about, and the cluster and the
// namespace are those of the row; without one, they are those that are chosen. A value of a row is percent-encoded: Grafana leaves & and # in
// it otherwise, which would end the value of a variable.
func toBoard(name, value string, withClickHouse bool) string {
	common := "&${datasource:queryparam}&${__url_time_range}"
	if withClickHouse {
		common = "&${clickhouse:queryparam}" + common
	}
	if value == "" {
		return "/d/" + uidPrefix + name + "?${cluster:queryparam}&${namespace:queryparam}" + common
	}
	common = "&var-cluster=${__data.fields.cluster:percentencode}" + common
	switch name {
	case "volume":
		return "/d/" + uidPrefix + "volume?var-volume=" + value + "&var-namespace=$__all" + common
	case "workload":
		return "/d/" + uidPrefix + "workload?var-workload=" + value + "&var-namespace=${__data.fields.namespace:percentencode}" + common
	case "owner":
		return "/d/" + uidPrefix + "namespace?var-owner=" + value + "&var-namespace=$__all" + common
	case "namespace":
		return "/d/" + uidPrefix + "namespace?var-namespace=" + value + "&var-owner=$__all" + common
	}
	panic("no link to " + name)
}

// stateColors are the colors of a volume's states and phases everywhere.
var stateColors = map[string]value{
	"mounted": {"", "green"}, "pending": {"", "blue"}, "idle": {"", "yellow"}, "never_mounted": {"", "orange"}, "available": {"", "purple"},
	"released": {"", "red"}, "failed": {"", "dark-red"}, "Bound": {"", "green"}, "Released": {"", "red"}, "Failed": {"", "dark-red"},
	"Pending": {"", "blue"}, "Lost": {"", "dark-red"}, "Available": {"", "purple"},
}

// named makes value mappings.
func named(values map[string]value) dashboard.ValueMapping {
	m := dashboard.ValueMap{Type: dashboard.MappingTypeValueToText, Options: map[string]dashboard.ValueMappingResult{}}
	for of, v := range values {
		var r dashboard.ValueMappingResult
		if v.text != "" {
			r.Text = ptr(v.text)
		}
		if v.color != "" {
			r.Color = ptr(v.color)
		}
		m.Options[of] = r
	}
	return dashboard.ValueMapping{ValueMap: &m}
}

// check refuses a board that could not be laid out.
func (b board) check() error {
	for _, r := range b.rows {
		for _, p := range r.panels {
			if p.width < 1 || p.width > width || p.height < 1 || len(p.queries) == 0 {
				return fmt.Errorf("%s: panel %q is %d wide and %d high, and has %d queries", b.name, p.title, p.width, p.height, len(p.queries))
			}
		}
	}
	return nil
}
