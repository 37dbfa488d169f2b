package catalog_test

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kubevoltracker/kubevoltracker/catalog"
)

// Every kind of value that the catalog's columns, and the usual expressions on
// them, come as.
const values = `SELECT
	toInt64(10737418240) AS capacity_bytes, toUInt64(0) AS used_bytes, toNullable(toInt64(3542400)) AS idle_seconds,
	CAST(NULL, 'Nullable(Int64)') AS nothing_bytes, 'tab\there' AS text, '' AS empty,
	toDateTime64('2026-03-01 12:00:00', 6, 'UTC') AS whole, toDateTime64('2026-03-01 12:00:00.25', 6, 'UTC') AS part,
	CAST(NULL, 'Nullable(DateTime64(6, \'UTC\'))') AS never, toDate('2026-03-01') AS day, true AS yes,
	1.5 AS float, nan AS no_number, toFloat32('inf') AS endless, [1, nan] AS floats, CAST(NULL, 'Nullable(Nothing)') AS nothing,
	nan AS average_bytes, -5 AS negative_seconds, -inf AS endless_seconds, 1e30 AS huge_bytes,
	18446744073709551615 AS big, toUInt256('115792089237316195423570985008687907853269984665640564039457584007913129639935') AS bigger,
	toDecimal64(12.5, 2) AS decimal, toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0') AS uuid, toIPv4('10.0.0.1') AS address,
	[1, 2] AS small, map('k', [1, 2]) AS lists, ('a', 1) AS pair, [toDate('2026-03-01')] AS days, '{\"a\": {\"b\": [1]}}'::JSON AS json,
	'\xEF\xBF\xBE\xEF\xBF\xBF' AS noncharacters, map('\xEF\xBF\xBE', '\xEF\xBF\xBF') AS noncharacter_labels,
	['a', 'b'] AS list, map('k', 'v"') AS labels, toLowCardinality('low') AS low, toInt64(-1536) AS less_bytes`

func rendered(t *testing.T, c *catalog.Catalog, sql string, format catalog.Format) string {
	t.Helper()
	result, err := c.Run(t.Context(), sql, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := result.Write(&out, format); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestEveryFormatOfEveryKindOfValue(t *testing.T) {
	c := migrated(t)
	golden(t, "values.txt", rendered(t, c, values, catalog.TableFormat))
	golden(t, "values.json", rendered(t, c, values, catalog.JSONFormat))
	golden(t, "values.csv", rendered(t, c, values, catalog.CSVFormat))
	golden(t, "values.md", rendered(t, c, values, catalog.MarkdownFormat))
	text := rendered(t, c, values, catalog.YAMLFormat)
	golden(t, "values.yaml", text)
	converted, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var fromYAML, fromJSON any
	if err := errors.Join(json.Unmarshal(converted, &fromYAML), json.Unmarshal([]byte(rendered(t, c, values, catalog.JSONFormat)), &fromJSON)); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(fromYAML, fromJSON) {
		t.Errorf("YAML and JSON differ:\n%v\n%v", fromYAML, fromJSON)
	}
}

// TestHostileTextInPagesForPeople has names that would be markup, move a cursor, or end a line.
func TestHostileTextInPagesForPeople(t *testing.T) {
	c := migrated(t)
	const sql = "SELECT '<script>|[x](y)\\n\\x1b[2J\\x7f' AS name, '- a: b # c' AS plain, 'yes' AS word"
	for format, want := range map[catalog.Format]string{
		catalog.MarkdownFormat: "| name | plain | word |\n|---|---|---|\n" + `| \<script\>\|\[x\](y)\\n\\x1b\[2J\\x7f | - a: b \# c | yes |` + "\n",
		catalog.YAMLFormat:     `- name: "<script>|[x](y)\n\e[2J\x7F"` + "\n  plain: '- a: b # c'\n  word: \"yes\"\n",
	} {
		if got := rendered(t, c, sql, format); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", format, got, want)
		}
	}
}

// Wide characters take two cells of a terminal, combining ones none.
func TestColumnsOfWideCharactersAreAligned(t *testing.T) {
	const sql = "SELECT * FROM VALUES('name String, used_bytes Int64, note String', ('ab', 1024, 'x'), ('日本', 1, 'y'), ('e\u0301', 10240, 'z'))"
	const want = "" +
		"name   used_bytes   note\n" +
		"ab        1.0 KiB   x\n" +
		"日本          1 B   y\n" +
		"e\u0301          10 KiB   z\n"
	if got := rendered(t, migrated(t), sql, catalog.TableFormat); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestStatementsWithoutResult(t *testing.T) {
	c := migrated(t)
	for format, want := range map[catalog.Format]string{catalog.TableFormat: "", catalog.JSONFormat: "[]\n", catalog.CSVFormat: ""} {
		if got := rendered(t, c, "CREATE TABLE IF NOT EXISTS extra (x Int8) ENGINE = Memory", format); got != want {
			t.Errorf("%s: %q", format, got)
		}
	}
}

func TestLargeResultsStream(t *testing.T) {
	got := rendered(t, migrated(t), "SELECT number FROM numbers(300000)", catalog.CSVFormat)
	if strings.Count(got, "\n") != 300001 || !strings.HasSuffix(got, "\n299999\n") {
		t.Errorf("%d lines", strings.Count(got, "\n"))
	}
}

func TestAnAnswerThatIsNotReadToItsEndIsCancelled(t *testing.T) {
	start := time.Now()
	result, err := migrated(t).Query(t.Context(), "SELECT repeat('x', 1000) FROM numbers(50000000)", nil)
	if err != nil {
		t.Fatal(err)
	}
	if !result.Next() {
		t.Error(result.Err())
	}
	result.Close()
	if took := time.Since(start); took > 30*time.Second { // to read it all takes minutes
		t.Errorf("took %s", took)
	}
}

func TestAnErrorAmidAnAnswerIsReported(t *testing.T) {
	result, err := migrated(t).Query(t.Context(), "SELECT number, throwIf(number = 500000) FROM numbers(1000000) SETTINGS max_block_size = 1000, max_threads = 1", nil)
	if err == nil {
		err = result.Write(io.Discard, catalog.JSONFormat)
	}
	if !catalog.IsReason(err, catalog.Refused) || !strings.Contains(err.Error(), "code 395") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
}

func TestParametersOfAQuery(t *testing.T) {
	result, err := migrated(t).Query(t.Context(), "SELECT {a:String} AS a, {n:UInt8} + 1 AS n", map[string]string{"a": `it's \ "x"`, "n": "41"})
	if err != nil {
		t.Fatal(err)
	}
	defer result.Close()
	if !result.Next() || result.Row()[0] != `it's \ "x"` || result.Row()[1] != uint16(42) {
		t.Errorf("got %v, %v", result.Row(), result.Err())
	}
}
