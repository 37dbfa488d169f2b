package catalog_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/proto"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
)

// TestWhatTheOldestServerLacks: docs/install.md promises ClickHouse 24.8 and later, and tests run on the embedded one alone, which is newer.
// It says since when it has its functions and settings. So no statement may call a function, or name a setting, that is younger than 24.8,
// but for the settings that are given to no version without them: TestWhatAVersionLeavesOut.
func TestWhatTheOldestServerLacks(t *testing.T) {
	c := catalogtest.Open(t, sharedAddress, "default")
	var text strings.Builder
	for _, pattern := range []string{"reports/*.sql", "migrations/*.sql", "*.go", "ingest/*.go", "../deploy/clickhouse/users.sh"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v, %v", pattern, names, err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			text.Write(file)
		}
	}
	const after = "arrayMap(n -> toUInt32OrZero(n), splitByChar('.', %s)) >= [24, 9]"
	for _, of := range []struct {
		what, words, sql string
		least            int // so many of the words are functions or settings
	}{
		{"function", `\b(\w+)\(`, "SELECT name, introduced_in, " + fmt.Sprintf(after, "introduced_in") + " AS young FROM system.functions WHERE introduced_in != ''", 100},
		{"setting", `\b([a-z]+(?:_[a-z0-9]+)+)\b`, `SELECT s.name AS name, n.since, n.since != '' AS young
			FROM (SELECT name FROM system.settings UNION DISTINCT SELECT name FROM system.merge_tree_settings) AS s
			LEFT JOIN (SELECT change.name AS name, max(version) AS since FROM system.settings_changes ARRAY JOIN changes AS change
				WHERE match(change.reason, '(?i)new setting|introduce') AND ` + fmt.Sprintf(after, "version") + ` GROUP BY name) AS n ON n.name = s.name`, 10},
	} {
		var words []string
		for _, found := range regexp.MustCompile(of.words).FindAllStringSubmatch(text.String(), -1) {
			words = append(words, found[1])
		}
		known := 0
		for _, row := range rows(t, c, of.sql) {
			if !slices.Contains(words, row[0].(string)) {
				continue
			}
			known++
			if _, known := catalog.LeftOut(newest)[row[0].(string)]; known {
				continue
			}
			if young := fmt.Sprint(row[2]); young != "0" {
				t.Errorf("the %s %s is in ClickHouse since %v only", of.what, row[0], row[1])
			}
		}
		if known < of.least {
			t.Errorf("only %d %ss are known: the pattern does not find them", known, of.what)
		}
	}
}

// TestNoCommaBeforeSelect: before 26.4, ClickHouse refuses WITH … , SELECT. The statements of reports are put together from files.
func TestNoCommaBeforeSelect(t *testing.T) {
	names, err := filepath.Glob("reports/*.sql")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	comma := regexp.MustCompile(`,\s*(--[^\n]*\n\s*)*SELECT\b`)
	for _, name := range names {
		for _, kind := range []string{"now", "moment", "window", "quarters", "found moment", "found quarters"} {
			for _, flag := range []string{"", "namespace", "owner", "group", "volume", "volume_namespaces", "its_namespaces", "named_volumes", "watched_spans", "changed_claims"} {
				sql, err := catalog.Expand(filepath.Base(name), kind, map[string]string{flag: "x"})
				if err != nil && strings.Contains(name, "_") {
					continue // an included file with an argument of its own
				}
				if err != nil {
					t.Fatalf("%s (%s, --%s): %v", name, kind, flag, err)
				}
				if found := comma.FindString(sql); found != "" {
					t.Errorf("%s (%s, --%s): %q", name, kind, flag, found)
				}
			}
		}
	}
}

// newest is greater than any version.
var newest = proto.Version{Major: 1000}

// A version gets the settings that it knows, from the first one on that ClickHouse mentions them with.
func TestWhatAVersionLeavesOut(t *testing.T) {
	c := catalogtest.Open(t, sharedAddress, "default")
	settings := catalog.LeftOut(newest)
	if len(settings) == 0 {
		t.Fatal("no setting")
	}
	for name := range settings {
		since := rows(t, c, `SELECT toUInt64(splitByChar('.', version)[1]), toUInt64(splitByChar('.', version)[2]) FROM system.settings_changes ARRAY JOIN changes AS change
			WHERE change.name = '`+name+`' ORDER BY 1, 2 LIMIT 1`)
		first := proto.Version{Major: since[0][0].(uint64), Minor: since[0][1].(uint64)}
		before := proto.Version{Major: first.Major, Minor: first.Minor - 1, Patch: 99}
		if _, has := catalog.LeftOut(first)[name]; !has {
			t.Errorf("ClickHouse %v does not get %s", first, name)
		}
		if _, has := catalog.LeftOut(before)[name]; has {
			t.Errorf("ClickHouse %v gets %s, which it refuses", before, name)
		}
	}
}
