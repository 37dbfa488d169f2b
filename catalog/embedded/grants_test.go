package embedded_test

import (
	"encoding/xml"
	"maps"
	"net/url"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/embedded"
)

// usersSQL returns what deploy/clickhouse/users.sh prints.
func usersSQL(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"writer", "reader"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("password of the "+name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := osexec.Command("../../deploy/clickhouse/users.sh", filepath.Join(dir, "writer"), filepath.Join(dir, "reader")).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestNoUserIsMadeWithoutAHash has no program for SHA-256: the users must not get an empty hash.
func TestNoUserIsMadeWithoutAHash(t *testing.T) {
	dir := t.TempDir()
	password := filepath.Join(dir, "password")
	if err := os.WriteFile(password, []byte("password\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"head", "tr", "cut", "cat"} {
		path, err := osexec.LookPath(program)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(dir, program)); err != nil {
			t.Fatal(err)
		}
	}
	users := osexec.Command("../../deploy/clickhouse/users.sh", password, password)
	users.Env = []string{"PATH=" + dir}
	if out, err := users.Output(); err == nil || len(out) > 0 {
		t.Errorf("%v, it prints %s", err, out)
	}
}

// limit is a setting of a profile, and what a user may make of it.
type limit struct {
	value, least, most string
	fixed              bool
}

// limitsOfSQL returns the limits in the profile that deploy/clickhouse/users.sh makes.
func limitsOfSQL(t *testing.T) map[string]limit {
	t.Helper()
	_, profile, _ := strings.Cut(usersSQL(t), "ALTER SETTINGS PROFILE kubevoltracker_reader SETTINGS\n")
	profile, _, _ = strings.Cut(profile, ";")
	limits := map[string]limit{}
	setting := regexp.MustCompile(`^ *(\w+)(?: = (\d+))?(?: MIN (\d+) MAX (\d+))?( CONST)?$`)
	for line := range strings.SplitSeq(profile, ",\n") {
		found := setting.FindStringSubmatch(line)
		if found == nil {
			t.Fatalf("%q is no setting", line)
		}
		limits[found[1]] = limit{found[2], found[3], found[4], found[5] != ""}
	}
	return limits
}

// limitsOfXML returns the limits in the profile of deploy/compose/clickhouse/reader.xml.
func limitsOfXML(t *testing.T) map[string]limit {
	t.Helper()
	text, err := os.ReadFile("../../deploy/compose/clickhouse/reader.xml")
	if err != nil {
		t.Fatal(err)
	}
	type element struct {
		XMLName  xml.Name
		Text     string    `xml:",chardata"`
		Elements []element `xml:",any"`
	}
	var file struct {
		Profile element `xml:"profiles>kubevoltracker_reader"`
	}
	if err := xml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	limits := map[string]limit{}
	for _, e := range file.Profile.Elements {
		if e.XMLName.Local != "constraints" {
			of := limits[e.XMLName.Local]
			of.value = e.Text
			limits[e.XMLName.Local] = of
			continue
		}
		for _, e := range e.Elements {
			of := limits[e.XMLName.Local]
			for _, constraint := range e.Elements {
				switch constraint.XMLName.Local {
				case "min":
					of.least = constraint.Text
				case "max":
					of.most = constraint.Text
				case "const":
					of.fixed = true
				}
			}
			limits[e.XMLName.Local] = of
		}
	}
	return limits
}

// TestTheReadersOfAServerAreLimited compares the limits of readers in the SQL for a server of one's own with those for Docker Compose.
func TestTheReadersOfAServerAreLimited(t *testing.T) {
	limits, compose := limitsOfSQL(t), limitsOfXML(t)
	if !maps.Equal(limits, compose) {
		t.Errorf("users.sh has the limits %v, and reader.xml %v", limits, compose)
	}
	for _, name := range []string{
		"max_memory_usage", "max_execution_time", "max_result_rows", "max_concurrent_queries_for_user", "max_temporary_data_on_disk_size_for_query",
		"max_temporary_data_on_disk_size_for_user", "min_free_disk_space_for_temporary_data", "join_algorithm",
	} {
		of := limits[name]
		if bounded := of.value != "" && of.least == "1" && of.most == of.value; !of.fixed && !bounded {
			t.Errorf("a reader may change %s: %+v", name, of)
		}
		if answer := send(t, "", "SELECT count() FROM system.settings WHERE name = '"+name+"'"); answer != "1\n" {
			t.Errorf("ClickHouse does not know %s", name)
		}
	}
}

// grantsTo returns the rights that the SQL gives to a user on the database.
func grantsTo(t *testing.T, sql, user string) []string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^GRANT (.*) ON kubevoltracker\.\* TO `+user+`;$`).FindAllStringSubmatch(sql, -1)
	if len(found) == 0 {
		t.Fatalf("no grants to %s in %s", user, sql)
	}
	var rights []string
	for _, grant := range found {
		rights = append(rights, strings.Split(grant[1], ", ")...)
	}
	return rights
}

// with does something on an engine whose user has these rights.
func with(t *testing.T, dir string, rights []string, do func(c *catalog.Catalog) error) error {
	t.Helper()
	grant := "GRANT " + strings.Join(rights, ", ") + " ON kubevoltracker.*"
	cmd, stdin, address := child(t, dir, "KUBEVOLTRACKER_TEST_GRANT="+grant)
	defer func() { stdin.Close(); _ = cmd.Wait() }()
	c, err := catalog.Open(catalog.Options{URL: address + "/kubevoltracker", Username: embedded.WriterUser, Password: writerPassword})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return do(c)
}

// track does what a tracker does in its catalog: it makes the tables, writes and reads each, and applies a retention.
func track(t *testing.T) func(*catalog.Catalog) error {
	return func(c *catalog.Catalog) error {
		if err := c.Migrate(t.Context()); err != nil {
			return err
		}
		for _, table := range []string{"volumes", "mounts", "objects", "usage", "coverage", "changes"} {
			result, err := c.Run(t.Context(), "INSERT INTO "+table+" SELECT * FROM "+table, nil)
			if err != nil {
				return err
			}
			result.Close()
		}
		// Months with parts to merge, and a container of an expired pod.
		for range 2 {
			for _, statement := range []string{
				"INSERT INTO mounts (cluster, pod_created_at, pod_uid) SELECT 'east', addMonths(toDateTime64('2020-01-01', 6), number), 'a' FROM numbers(20)",
				"INSERT INTO containers (cluster, pod_created_at, pod_uid) VALUES ('east', '2020-01-01', 'a')",
			} {
				result, err := c.Run(t.Context(), statement, nil)
				if err != nil {
					return err
				}
				result.Close()
			}
		}
		for _, retention := range []catalog.Retention{{"mounts": 365 * 24 * time.Hour}, {}} {
			if _, err := c.Retain(t.Context(), retention); err != nil {
				if !strings.Contains(err.Error(), "an administrator has to run GRANT "+catalog.RetentionGrants+" ON kubevoltracker.* TO kubevoltracker") {
					t.Errorf("the error does not name the rights: %v", err)
				}
				return err
			}
		}
		return nil
	}
}

// report does what readers do: reports and SQL.
func report(t *testing.T) func(*catalog.Catalog) error {
	return func(c *catalog.Catalog) error {
		for _, r := range catalog.Reports() {
			parameters := map[string]string{}
			for _, f := range r.Flags {
				if f.Argument {
					parameters[f.Name] = "shop/data"
				}
			}
			result, err := c.RunReport(t.Context(), r.Name, parameters, 0)
			if err != nil {
				return err
			}
			result.Close()
		}
		result, err := c.Query(t.Context(), "SELECT count() FROM mounts", nil)
		if err != nil {
			return err
		}
		result.Close()
		return nil
	}
}

// TestTheUsersOfAServerHaveTheRightsThatTheyNeed takes the rights from the SQL for a server of one's own, and does with
// them what the tracker and its readers do; with each right less, something must fail.
func TestTheUsersOfAServerHaveTheRightsThatTheyNeed(t *testing.T) {
	sql := usersSQL(t)
	writes, reads := grantsTo(t, sql, "kubevoltracker"), grantsTo(t, sql, "kubevoltracker_reader")
	dir := t.TempDir()
	if err := with(t, dir, writes, track(t)); err != nil {
		t.Errorf("the writer: %v", err)
	}
	if err := with(t, dir, reads, report(t)); err != nil {
		t.Errorf("the reader: %v", err)
	}
	if err := with(t, dir, reads, track(t)); err == nil {
		t.Error("the reader can write")
	}
	for i, right := range writes {
		if err := with(t, t.TempDir(), slices.Delete(slices.Clone(writes), i, i+1), track(t)); err == nil {
			t.Errorf("without %s: %v", right, err)
		}
	}
	for statement := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(sql), ";"), ";\n") {
		if answer := send(t, "param_s="+url.QueryEscape(strings.ReplaceAll(statement, "\n", " ")), "SELECT formatQuery({s:String})"); strings.Contains(answer, "DB::Exception") {
			t.Errorf("%s: %s", statement, answer)
		}
	}
}
