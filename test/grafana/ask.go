package grafana

import (
	"context"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// Answer is a table as Grafana gets it.
type Answer struct {
	Columns, Types []string
	Rows           [][]any
}

// plain are the types that the plugin shows as texts, numbers, truths and times. It shows others, such as arrays, as JSON.
var plain = regexp.MustCompile(`^(LowCardinality\(|Nullable\()*(String|Bool|U?Int(8|16|32|64)|Float64|DateTime(\(.*\))?|DateTime64\(.*\)|Date)\)*$`)

// Open connects to a catalog as the plugin does by the protocol HTTP: with clickhouse-go, as the user who reads. The address can have settings.
func Open(t testing.TB, catalog string) clickhouse.Conn {
	t.Helper()
	u, err := url.Parse(catalog)
	if err != nil {
		t.Fatal(err)
	}
	settings := clickhouse.Settings{}
	for name := range u.Query() {
		settings[name] = u.Query().Get(name)
	}
	conn, err := clickhouse.Open(&clickhouse.Options{
		Protocol: clickhouse.HTTP, Addr: []string{u.Host}, Auth: clickhouse.Auth{Database: strings.Trim(u.Path, "/"), Username: "default"}, Settings: settings,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// Ask runs a statement.
func Ask(conn clickhouse.Conn, statement string) (a Answer, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	rows, err := conn.Query(ctx, statement)
	if err != nil {
		return a, err
	}
	defer rows.Close()
	for _, c := range rows.ColumnTypes() {
		a.Columns, a.Types = append(a.Columns, c.Name()), append(a.Types, c.DatabaseTypeName())
		if !plain.MatchString(c.DatabaseTypeName()) {
			return a, fmt.Errorf("column %s is a %s, which Grafana shows as JSON", c.Name(), c.DatabaseTypeName())
		}
	}
	for rows.Next() {
		row, into := make([]any, len(a.Columns)), make([]any, len(a.Columns))
		for i, c := range rows.ColumnTypes() {
			into[i] = reflect.New(c.ScanType()).Interface()
		}
		if err := rows.Scan(into...); err != nil {
			return a, err
		}
		for i := range row {
			v := reflect.ValueOf(into[i]).Elem()
			if v.Kind() == reflect.Pointer && v.IsNil() {
				continue
			}
			row[i] = reflect.Indirect(v).Interface()
		}
		a.Rows = append(a.Rows, row)
	}
	return a, rows.Err()
}
