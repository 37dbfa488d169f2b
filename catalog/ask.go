package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	chproto "github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/proto"
	"golang.org/x/sync/errgroup"
)

// asking is a report that is being asked: its small statements first, if it has any, and then its own.
type asking struct {
	*Catalog
	report  Report
	window  window
	values  map[string]string // of the parameters of all of its statements: the small ones add what they have found
	explain func(error) error // turns an error of ClickHouse into an *Error
}

// ask returns a report with the values of its flags, and of the parameters that it always has.
func (c *Catalog) ask(name string, flags map[string]string) (*asking, error) {
	r, err := findReport(name)
	if err != nil {
		return nil, err
	}
	moment := c.now()
	values, err := r.values(flags)
	if err != nil {
		return nil, fmt.Errorf("report %s: %w", name, err)
	}
	w, err := parseWindow(flags, r.span, moment)
	if err != nil {
		return nil, fmt.Errorf("report %s: %w", name, err)
	}
	values["now_micros"] = strconv.FormatInt(moment.UnixMicro(), 10)
	values["now"] = parameter(moment)
	values["since"], values["until"] = parameter(w.since), parameter(w.until)
	maps.Copy(values, r.bounds)
	explain := func(err error) error { return c.explainReport("report "+name, err) }
	return &asking{Catalog: c, report: r, window: w, values: values, explain: explain}, nil
}

// ReportSQL returns one statement with the rows of a report, and the values of its parameters. RunReport may ask small statements first,
// and then a faster one with the same rows. Errors are a user's mistake in one line.
func (c *Catalog) ReportSQL(name string, parameters map[string]string) (Statement, error) {
	a, err := c.ask(name, parameters)
	if err != nil {
		return Statement{}, err
	}
	sql, err := a.sql(a.window.kind())
	return Statement{SQL: sql, Parameters: a.values, settings: a.report.settings(), database: c.Database()}, err
}

// RunReport answers a report; parameters are flags by name, as text, and those left out have their default. It returns
// at most so many rows if the parameter limit is empty; 0 is no limit. The Result notes when there are more rows than it
// has. The caller closes the Result. Errors are a user's mistake in one line, or *Error.
func (c *Catalog) RunReport(ctx context.Context, name string, parameters map[string]string, most int) (*Result, error) {
	a, err := c.ask(name, parameters)
	if err != nil {
		return nil, err
	}
	if a.values["limit"] != noLimit || parameters["limit"] != "" {
		most = 0
	}
	if most > 0 {
		a.values["limit"] = strconv.Itoa(most + 1) // one more shows that there are more
	}
	with, kind, err := a.prepare(ctx)
	if err != nil {
		return nil, err
	}
	// The report's own statements take longest. Those for the notes run at the same time, and not before: what they take of the
	// server would delay the small statements that the report waits for.
	var several bool
	var known notesFrom
	var beside errgroup.Group
	besideCtx, stop := context.WithCancel(ctx)
	defer stop()
	beside.Go(func() (err error) { // one after the other: the report has the other connection that is open
		several, err = c.severalClusters(besideCtx)
		known = c.known(besideCtx, parameters["cluster"], a.window)
		return a.explain(err)
	})
	result, err := a.answer(with, kind)
	if err != nil {
		stop()
	}
	if besideErr := beside.Wait(); err == nil && besideErr != nil {
		result.Close()
		err = besideErr
	}
	if err != nil {
		return nil, err
	}
	r := a.report
	result.remark, result.most = r.remark, most
	result.known, result.window = known, a.window
	if r.before {
		result.window = a.window.withBefore(partLengths[a.values["per"]], c.now())
	}
	result.readsPast = r.readsPast && a.window.kind() == "moment"
	whole := a.values["limit"] == noLimit || most > 0
	for i := range result.Columns {
		r.describe(&result.Columns[i], a.values, several)
		result.Columns[i].Sum = result.Columns[i].Sum && whole // the sum of a part would mislead
	}
	return result, nil
}

// prepare asks where the report has to look, and which sums it can read. It returns what findQuarters does.
func (a *asking) prepare(ctx context.Context) (with context.Context, kind string, err error) {
	own, err := a.sql(a.window.kind())
	if err != nil {
		return nil, "", err
	}
	if err := a.findParameters(ctx, own, "named_volumes", "its_namespaces"); err != nil {
		return nil, "", err
	}
	// The sums of quarters depend neither on when pods were watched nor on the namespaces of volumes, so they are asked at the same time.
	ofVolumes := *a
	ofVolumes.values = maps.Clone(a.values)
	var beside errgroup.Group
	beside.Go(func() error { return ofVolumes.findParameters(ctx, own, "watched_spans", "volume_namespaces") })
	with, kind, err = a.findQuarters(ctx)
	if err = cmp.Or(err, beside.Wait()); err != nil {
		return nil, "", err
	}
	maps.Copy(ofVolumes.values, a.values)
	a.values = ofVolumes.values
	return with, kind, nil
}

// answer asks the statements with the rows of the report.
func (a *asking) answer(with context.Context, kind string) (*Result, error) {
	nothing, err := a.findBounds(with)
	if err != nil {
		return nil, err
	}
	sql, err := a.sql(kind)
	if err != nil {
		return nil, err
	}
	expires := expiring(sql)
	if a.report.found == a.window.kind() && a.report.findsFirst(a.values) {
		if with, sql, nothing, err = a.findRows(with, sql, kind); err != nil {
			return nil, err
		}
	}
	run := a.run
	if nothing {
		run = a.noRows
	}
	result, err := run(with, sql)
	if err == nil {
		result.expiring = expires
	}
	return result, err
}

// sql returns the report's own SQL for a kind of window.
func (a *asking) sql(kind string) (string, error) {
	return expand(a.report.file(a.window), kind, a.values)
}

// run asks a statement. Its result has columns also without rows.
func (a *asking) run(ctx context.Context, sql string) (*Result, error) {
	result, err := a.rows(ctx, sql)
	if err != nil {
		return nil, err
	}
	if len(result.Columns) > 0 {
		a.columns.Store(sql, slices.Clone(result.Columns))
		return result, nil
	}
	// Over HTTP, a result without rows comes without columns too.
	defer result.Close()
	if result.Next(); result.Err() != nil {
		return nil, result.Err()
	}
	return a.noRows(ctx, sql)
}

// rows asks a statement: again on one thread if it needs more memory than there is.
func (a *asking) rows(ctx context.Context, sql string) (result *Result, err error) {
	err = a.withinMemory(func(settings clickhouse.Settings) (err error) {
		result, err = a.query(ctx, a.explain, sql, a.values, settings)
		return err
	})
	return result, err
}

// withinMemory calls ask with the settings of the report, and once more with one thread if the server has not enough
// memory: each thread aggregates by itself, so one thread takes longer and needs less memory.
func (a *asking) withinMemory(ask func(clickhouse.Settings) error) error {
	settings := a.settings()
	err := ask(settings)
	if HasCode(err, chproto.ErrMemoryLimitExceeded) {
		settings["max_threads"] = 1
		err = ask(settings)
	}
	return err
}

// settings are those of the report, and what this ClickHouse has to leave out.
func (a *asking) settings() clickhouse.Settings {
	settings := a.report.settings()
	maps.Copy(settings, interpreted)
	if conn, err := a.connection("query"); err == nil {
		if server, err := conn.ServerVersion(); err == nil {
			maps.Copy(settings, leftOut(server.Version))
		}
	}
	return settings
}

// noRows returns an answer without rows, which has the columns of a statement.
func (a *asking) noRows(ctx context.Context, sql string) (*Result, error) {
	columns, err := a.columnsOf(ctx, sql)
	if err != nil {
		return nil, err
	}
	empty := newResult(nil, nil, a.explain)
	empty.Columns = columns
	return empty, nil
}

// columnsOf returns the columns of a statement. To describe it, ClickHouse analyses all of it, which can
// take as long as the answer. So a report can declare its columns, and those of other statements are cached.
func (a *asking) columnsOf(ctx context.Context, sql string) (columns []ResultColumn, err error) {
	for _, name := range strings.Fields(a.report.columns) {
		columns = append(columns, newResultColumn(name, ""))
	}
	if known, ok := a.columns.Load(sql); ok && columns == nil {
		columns = slices.Clone(known.([]ResultColumn))
	}
	if columns != nil {
		return columns, nil
	}
	described, err := a.query(ctx, a.explain, "DESCRIBE (\n"+sql+"\n)", a.values, a.settings())
	if err != nil {
		return nil, err
	}
	defer described.Close()
	for described.Next() {
		row := described.Row()
		columns = append(columns, newResultColumn(fmt.Sprint(row[0]), fmt.Sprint(row[1])))
	}
	if err := described.Err(); err != nil {
		return nil, err
	}
	a.columns.Store(sql, slices.Clone(columns))
	return columns, nil
}

// explainReport is explain for questions of our own: where these lack a table or
// a column, the database lacks a migration.
func (c *Catalog) explainReport(op string, err error) error {
	err = c.explain(op, err)
	var e *Error
	if errors.As(err, &e) && HasCode(err, chproto.ErrUnknownTable, chproto.ErrUnknownIdentifier) {
		e.Hint = fmt.Sprintf("has no tables of this kubevoltracker in database %q; make them with `kubevoltracker schema migrate`, or name another database in --catalog.url", c.Database())
	}
	return err
}

// severalClusters reports whether rows need to say which cluster they are of.
func (c *Catalog) severalClusters(ctx context.Context) (bool, error) {
	const sql = `SELECT uniqExact(cluster) FROM (
		SELECT DISTINCT cluster FROM coverage
		UNION ALL SELECT DISTINCT cluster FROM volumes
		UNION ALL SELECT DISTINCT cluster FROM claims)`
	var n uint64
	conn, err := c.connection("query")
	if err != nil {
		return false, err
	}
	err = conn.QueryRow(ctx, sql).Scan(&n)
	return n > 1, err
}

// leftOut returns the settings that switch optimizations of ClickHouse off; a version without one of them refuses its setting.
//
// optimize_and_compare_chain compares conditions by hashing each column with the whole subquery that the column comes from, in each step
// anew: up to a third of the time that ClickHouse takes to plan a report of many steps.
// optimize_extract_common_expressions hashes conditions in the same way, and finds nothing in reports: a twentieth of the analysis.
// optimize_truncate_order_by_after_group_by_keys so hashes what is grouped by, and finds nothing, either; with arrayJoin beside it, rows
// come in the wrong order (ClickHouse issue 101402).
//
// query_plan_optimize_join_order_limit changes the order of joins by statistics of columns, which only parts have that were merged. A
// report joins the smaller side last, as ClickHouse keeps it in memory; with statistics of one side alone it was five million mounts.
func leftOut(version proto.Version) clickhouse.Settings {
	settings := clickhouse.Settings{}
	for name, first := range map[string]proto.Version{
		"optimize_and_compare_chain":                     {Major: 25, Minor: 2},
		"optimize_extract_common_expressions":            {Major: 24, Minor: 12},
		"optimize_truncate_order_by_after_group_by_keys": {Major: 26, Minor: 4},
		"query_plan_optimize_join_order_limit":           {Major: 25, Minor: 9},
	} {
		if proto.CheckMinVersion(first, version) {
			settings[name] = 0
		}
	}
	return settings
}
