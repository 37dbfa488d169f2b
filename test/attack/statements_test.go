package attack

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Why attacks fail.
const (
	theKernel   = "the kernel refuses: the file is not the engine's (Landlock), or it may not make sockets (seccomp)"
	theTexts    = "a reader's names of functions and structures are plain texts, in which no SQL hides"
	theTables   = "readers may call only the table functions on a list; the function file has the name of one"
	theGate     = "the engine's parser says that the statement does more than read, or is not one statement"
	theRights   = "the engine's one user was never granted it"
	theLimits   = "a reader's memory, rows and time are bounded, and cannot be reset"
	theNames    = "names of formats, parameters, settings and tables are names, nothing else"
	theSettings = "the setting is constant"
	theList     = "readers may give only the settings on a list"
	theLogin    = "only who knows the password of this run may write"
	theBrowser  = "a request that a web page sends says so"
	theValue    = "it stays a value: it cannot end the statement"
)

// attempt is one attack. The answer must hold what it fails with.
type attempt struct {
	name  string
	as    who
	send  request
	fails string // in the answer
	why   string
}

// withstand makes an attack, and fails the test if it has reached anything, was answered, or failed for another reason.
func (at *target) withstand(t *testing.T, a attempt) {
	t.Helper()
	status, answer := at.send(t, a.as, a.send)
	if err := at.unharmed(t, answer); err != nil {
		t.Fatalf("%s: %v: %d %.300s", a.name, err, status, answer)
	}
	if status == http.StatusOK {
		t.Errorf("%s: it was answered: %.300s", a.name, answer)
	}
	if !strings.Contains(answer, a.fails) {
		t.Errorf("%s: not because %s, but: %d %.300s", a.name, a.why, status, answer)
	}
}

func (at *target) reads() []attempt {
	file := "'" + at.secret + "'"
	const denied, refused = "Permission denied", "file is not allowed"
	read := func(path string) request { return sql("SELECT * APPLY file FROM (SELECT '" + path + "')") }
	return []attempt{
		{"read a file", nobody, sql("SELECT file(" + file + ")"), refused, theTables},
		{"read a file, quoted", nobody, sql("SELECT upper(\"file\" (" + file + "))"), refused, theTables},
		{"read a file, behind a comment", nobody, sql("SELECT 1 // '\n, file(" + file + ") // '"), refused, theTables},
		{"read a file, escaped", nobody, sql("SELECT `fi\\x6ce`(" + file + ")"), "a backslash in a name", theTexts},
		{"read a file by APPLY", nobody, sql("SELECT * APPLY file FROM (SELECT " + file + ")"), denied, theKernel},
		{"read a file by arrayMap", nobody, sql("SELECT arrayMap(file, [" + file + "])"), denied, theKernel},
		{"read a file by a lambda", nobody, sql("SELECT arrayMap(x -> file(x), [" + file + "])"), refused, theTables},
		{"read a file by a link", nobody, get("query", "SELECT * APPLY file FROM (SELECT "+file+")"), denied, theKernel},
		{"read a file in a filter", nobody, get("query", "SELECT 1 AS x", "additional_result_filter", "file("+file+") != ''"), "SETTING_CONSTRAINT_VIOLATION", theSettings},
		{"read the accounts", nobody, read("/etc/passwd"), denied, theKernel},
		{"read the environment", nobody, read("/proc/self/environ"), denied, theKernel},
		{"read the environment of the parent", nobody, read("/proc/1/environ"), denied, theKernel},
		{"read the memory", nobody, read("/proc/self/maps"), denied, theKernel},
		{"read the service account's token", nobody, read("/var/run/secrets/kubernetes.io/serviceaccount/token"), "", "it is not there to be read"},
		{"read a file by a relative path", nobody, read("../../../../../../../../.." + at.secret), denied, theKernel},
		{"read a file by a symbolic link in the data directory", nobody, read(filepath.Join(at.data, "link")), denied, theKernel},
		{"signal each thread", nobody, sql("SELECT trace FROM system.stack_trace"), denied, theKernel},
		{"read a file as a table, as the writer", programmer, sql("SELECT * FROM file(" + file + ", 'LineAsString')"), "READ ON FILE", theRights},
		{"read a file by SQLite, as the writer", programmer, sql("SELECT * FROM sqlite(" + file + ", 'x')"), "unable to open database file", theKernel},
		{"read a file by a default", nobody, sql("SELECT * FROM format('JSONEachRow', 'a Int8, b String DEFAULT file(" + strings.ReplaceAll(file, "'", "\\'") + ")', '{\"a\":1}')"), denied, theKernel},
		{"read a file by a template", nobody, sql("SELECT 1 FORMAT Template SETTINGS format_template_resultset = " + file), "SETTING_CONSTRAINT_VIOLATION", theSettings},
		{"read a file by a schema", nobody, sql("SELECT 1 FORMAT Protobuf SETTINGS format_schema = '" + at.secret + ":M'"), "SETTING_CONSTRAINT_VIOLATION", theSettings},
		{"read a file by a model", nobody, sql("SELECT catboostEvaluate(" + file + ", 1)"), "", "no model server is configured"},
		{"run a command as a table", nobody, sql("SELECT * FROM executable('x', 'CSV', 'a Int8')"), "", theRights},
		{"read a file, as the writer", programmer, sql("SELECT file(" + file + ")"), denied, theKernel},
		{"read a file into a table", programmer, sql("INSERT INTO kubevoltracker.victim VALUES (8, file(" + file + "))"), "ILLEGAL_TYPE_OF_ARGUMENT", theSettings},
		{"read a file into a table by a format", programmer, sql("INSERT INTO kubevoltracker.victim FORMAT Values (8, file(" + file + "))"), "ILLEGAL_TYPE_OF_ARGUMENT", theSettings},
		{"read a file FROM INFILE", programmer, sql("INSERT INTO kubevoltracker.victim FROM INFILE " + file + " FORMAT LineAsString"), "", theKernel},
		{"read a file by a table's engine", programmer, sql("CREATE TABLE kubevoltracker.f (a String) ENGINE = File(CSV, " + file + ")"), "Not enough privileges", theRights},
		{"read a file by a dictionary", programmer, sql("CREATE DICTIONARY kubevoltracker.d (a String) PRIMARY KEY a SOURCE(FILE(path " + file + " format 'CSV')) LAYOUT(FLAT()) LIFETIME(1)"), "Not enough privileges", theRights},
		{"run a command by a dictionary", programmer, sql("CREATE DICTIONARY kubevoltracker.d (a String) PRIMARY KEY a SOURCE(EXECUTABLE(command 'touch " + at.wanted + "' format 'CSV')) LAYOUT(FLAT()) LIFETIME(1)"), "Not enough privileges", theRights},
		{"read a file by a view", programmer, sql("CREATE VIEW kubevoltracker.v (a String) SQL SECURITY NONE AS SELECT file(" + file + ")"), "", theRights},
		{"read another database file", programmer, sql("CREATE DATABASE s ENGINE = SQLite(" + file + ")"), "Not enough privileges", theRights},
	}
}

func (at *target) writes() []attempt {
	out := "'" + at.wanted + "'"
	metadata := filepath.Join(at.data, "clickhouse", "metadata")
	evil := "(SELECT count() FROM (SELECT * FROM format(CSV, $$a Int8$$, $$x\n1\n$$) SETTINGS input_format_record_errors_file_path = $$" + filepath.Join(metadata, "evil.sql") + "$$, input_format_allow_errors_num = 10))"
	outfile := "SELECT 'x' INTO OUTFILE " + out
	return []attempt{
		{"write a file", nobody, sql(outfile), "INTO OUTFILE is not allowed", theGate},
		{"write a file, other blanks", nobody, sql("SELECT 1 INTO\u3000OUTFILE " + out), "INTO OUTFILE is not allowed", theGate},
		{"write a file behind typographic quotes", nobody, sql("SELECT \u2018(\u2019 INTO OUTFILE " + out + " FORMAT CSV"), "INTO OUTFILE is not allowed", theGate},
		{"write a file behind nested comments", nobody, sql("/* /* */ ( */ SELECT 1 INTO OUTFILE " + out + " FORMAT CSV"), "INTO OUTFILE is not allowed", theGate},
		{"write a file between comments", nobody, sql("SELECT 1 INTO /* */ outfile " + out + " FORMAT CSV"), "INTO OUTFILE is not allowed", theGate},
		{"append to a file", nobody, sql("SELECT 1 INTO OUTFILE '" + at.secret + "' APPEND"), "INTO OUTFILE is not allowed", theGate},
		{"truncate a file", nobody, sql("SELECT 1 INTO OUTFILE '" + at.secret + "' TRUNCATE"), "INTO OUTFILE is not allowed", theGate},
		{"truncate a file of the catalog", nobody, sql("SELECT 1 INTO OUTFILE '" + filepath.Join(at.data, "clickhouse-users.xml") + "' TRUNCATE"), "INTO OUTFILE is not allowed", theGate},
		{"write a file by EXPLAIN", nobody, sql("EXPLAIN SELECT 1 INTO OUTFILE " + out), "INTO OUTFILE is not allowed", theGate},
		{"write a file by SHOW", nobody, sql("SHOW PROCESSLIST INTO OUTFILE " + out), "INTO OUTFILE is not allowed", theGate},
		{"write a file by a link's format", nobody, get("query", "SELECT 1", "default_format", "XML;"+outfile), "UNKNOWN_FORMAT", theNames},
		{"write a file by a link's format, a line", nobody, get("query", "SELECT 1", "default_format", "XML\n;"+outfile), "UNKNOWN_FORMAT", theNames},
		{"write a file by a header's format", nobody, request{body: "SELECT 1", headers: []string{"X-ClickHouse-Format", "XML;" + outfile}}, "UNKNOWN_FORMAT", theNames},
		{"write a file by a table's format", nobody, form("query", "SELECT 1", "x_structure", "a Int8", "x_format", "CSV;"+outfile), "UNKNOWN_FORMAT", theNames},
		{"write a file by a table's structure", nobody, form("query", "SELECT 1", "x_structure", "a Int8) ENGINE = Memory; "+outfile+" --"), "SYNTAX_ERROR", theValue},
		{"write a file by a table's engine", nobody, form("query", "SELECT 1", "x_structure", "a Int8) ENGINE = File(CSV, "+out+") --"), "SYNTAX_ERROR", theValue},
		{"write a file by a table's types", nobody, form("query", "SELECT 1", "x_types", "Int8) ENGINE = File(CSV, "+out+") --"), "SYNTAX_ERROR", theValue},
		{"read a file by a table's default", nobody, form("query", "SELECT * FROM x", "x_structure", "a Int8, b String DEFAULT file('"+at.secret+"')"), "", theKernel},
		{"run a subquery in a table's default", nobody, form("query", "SELECT * FROM x", "x_structure", "a Int8, b UInt64 DEFAULT 1 + (SELECT count() FROM kubevoltracker.victim SETTINGS max_memory_usage = 0)"), "Select query is not allowed in columns DEFAULT", theValue},
		{"a second statement in a setting's name", nobody, get("query", "SELECT 1", "max_threads=1; "+outfile+" --", "1"), "is not a name", theNames},
		{"a second statement in a setting's value", nobody, get("query", "SELECT 1", "max_threads", "1; "+outfile), "", theValue},
		{"a second statement in a parameter's name", nobody, get("query", "SELECT {x:String}", "param_x; "+outfile, "1"), "is not a name", theNames},
		{"a second statement in the database", nobody, get("query", "SELECT 1", "database", "x`; "+outfile), "UNKNOWN_DATABASE", theValue},
		{"a second statement in the role", nobody, get("query", "SELECT 1", "role", "x`; "+outfile), "", theValue},
		{"a second statement", nobody, sql("SELECT 1; " + outfile), "SYNTAX_ERROR", theGate},
		{"a second statement by a link", nobody, get("query", "SELECT 1; DROP TABLE kubevoltracker.victim"), "SYNTAX_ERROR", theGate},
		{"a second statement behind rows", programmer, sql("INSERT INTO kubevoltracker.victim VALUES (7, 'kept'); DROP TABLE kubevoltracker.victim"), "SYNTAX_ERROR", theGate},
		{"statements in parallel", nobody, sql("SELECT 1 PARALLEL WITH SELECT 2"), "Multi-statements", theGate},
		{"write a file by a function", nobody, sql("INSERT INTO FUNCTION file(" + out + ", 'CSV', 'a Int8') SELECT 1"), "reads only", theGate},
		{"write a file by a function, as the writer", programmer, sql("INSERT INTO FUNCTION file(" + out + ", 'CSV', 'a Int8') SELECT 1"), "Not enough privileges", theRights},
		{"write a file, as the writer", programmer, sql(outfile), "INTO OUTFILE is not allowed", theGate},
		{"write a backup", programmer, sql("BACKUP TABLE kubevoltracker.victim TO File(" + out + ")"), "Not enough privileges", theRights},
		{"write rejected rows to a file", programmer, request{path: "/?input_format_record_errors_file_path=" + url.QueryEscape(at.wanted) + "&input_format_allow_errors_num=9", body: "INSERT INTO kubevoltracker.victim FORMAT CSV x"}, "SETTING_CONSTRAINT_VIOLATION", theSettings},
		{"write rejected rows to a file by a subquery", nobody, sql("SELECT * FROM (SELECT * FROM format(CSV, 'a Int8', 'x\n1\n') SETTINGS input_format_record_errors_file_path = '" + filepath.Join(at.data, "clickhouse", "metadata", "evil.sql") + "', input_format_allow_errors_num = 10)"), "not allowed in a subquery", theGate},
		{"write rejected rows to a file by a common table expression, quoted", nobody, sql("WITH t AS (SELECT * FROM format(CSV, 'a Int8', 'x\n1\n') SETTINGS `input_format_record_errors_file_path` = '" + at.wanted + "') SELECT * FROM t"), "not allowed in a subquery", theGate},
		{"write rejected rows to a file by a subquery, behind a setting without a value", nobody, sql("SELECT * FROM (SELECT * FROM format(CSV, 'a Int8', 'x\n1\n') SETTINGS final, input_format_record_errors_file_path = '" + filepath.Join(at.data, "clickhouse", "metadata", "evil.sql") + "', input_format_allow_errors_num = 10)"), "not allowed in a subquery", theGate},
		{"give a setting that is not on the list behind names that look like INSERT", nobody, sql(`WITH "insert" AS (SELECT 1 AS "format") SELECT "format" FROM "insert" SETTINGS compatibility = '21.1'`), "SETTING_CONSTRAINT_VIOLATION", theList},
		{"write rejected rows to a file behind a number that begins with a dot", nobody, sql(`WITH "insert" AS (SELECT 1 AS "format") SELECT "format" FROM "insert" UNION ALL SELECT a FROM format(CSV, 'a Int8', 'x\n1\n') WHERE a>.5SETTINGS input_format_record_errors_file_path = '` + filepath.Join(metadata, "evil.sql") + "', input_format_allow_errors_num = 10 UNION ALL SELECT 1"), "before UNION", theGate},
		{"write rejected rows to a file between comments of another kind", nobody, sql("SELECT 1 // '\n, " + evil + " // '"), "not allowed in a subquery", theGate},
		{"write rejected rows to a file by a filter of replicas", nobody, get("query", "SELECT a FROM kubevoltracker.victim", "parallel_replicas_custom_key", "a IN "+evil,
			"enable_parallel_replicas", "1", "parallel_replicas_mode", "custom_key_sampling", "parallel_replicas_count", "2", "max_parallel_replicas", "2", "parallel_replica_offset", "1"), "SETTING_CONSTRAINT_VIOLATION", theList},
		{"write a file by opening a SQLite database", nobody, sql("SELECT * FROM sqlite('" + filepath.Join(metadata, "evil.sql") + "', 't')"), "sqlite is not allowed", theTables},
		{"write rejected rows to a file by a filter", nobody, get("query", "SELECT dummy FROM system.one", "additional_table_filters", "{'system.one': 'dummy IN (SELECT 1 SETTINGS final)'}"), "SETTING_CONSTRAINT_VIOLATION", theSettings},
		{"write rejected rows to a file by a filter of the result", nobody, sql("SELECT 1 AS x SETTINGS additional_result_filter = 'x IN (SELECT 1 SETTINGS final)'"), "SETTING_CONSTRAINT_VIOLATION", theSettings},
		{"run a subquery in a row", nobody, sql(`SELECT * FROM format(Values, 'a UInt64', '((SELECT toUInt64(getSetting(\'max_memory_usage\')) SETTINGS max_memory_usage = 0))')`), "Interpreting expressions is disabled", theSettings},
		{"run a subquery in a row, with the setting", nobody, sql(`SELECT * FROM format(Values, 'a UInt64', '((SELECT 1))') SETTINGS input_format_values_interpret_expressions = 1`), "SETTING_CONSTRAINT_VIOLATION", theSettings},
		{"run a subquery in the name of an aggregate function", nobody, sql(`SELECT arrayReduce('quantile((SELECT 0.5 SETTINGS readonly = 0))', [1])`), "takes its aggregate function", theTexts},
		{"run a subquery in the name of an aggregate function, put together", nobody, sql(`SELECT arrayReduce(concat('quantile((SEL','ECT 0.5))'), [1])`), "takes its aggregate function", theTexts},
		{"run a subquery in the name of an aggregate function, of an alias", nobody, sql(`WITH 'quantile((SELECT 0.5))' AS f SELECT arrayReduce(f, [1])`), "takes its aggregate function", theTexts},
		{"run a subquery in the name of an aggregate function, of a parameter", nobody, get("query", "SELECT arrayReduce({f:String}, [1])", "param_f", "quantile((SELECT 0.5))"), "takes its aggregate function", theTexts},
		{"run a subquery in the name of an aggregate function, by ranges", nobody, sql("SELECT `arrayReduceInRanges` /* */ ('quantile((SELECT 0.5))', [(1, 1)], [1])"), "takes its aggregate function", theTexts},
		{"run a subquery in the name of an aggregate function's state", nobody, sql(`SELECT initializeAggregation('quantileState((SELECT 0.5))', 1)`), "takes its aggregate function", theTexts},
		{"run a subquery in the name of an aggregate function, by escapes", nobody, sql(`SELECT "arr\x61yReduce"('quantile((SELECT 0.5))', [1])`), "a backslash in a name", theTexts},
		{"run a subquery in a structure", nobody, sql(`SELECT b FROM format(CSV, 'b Float64 DEFAULT arrayReduce(\'quantile((SELECT 0.5))\', [1])', '1')`), "takes its structure", theTexts},
		{"run a subquery in a structure, put together", nobody, sql(`SELECT b FROM format(CSV, concat('b Float64 DEFAULT arrayRe', 'duce(\'quantile((SELECT 0.5))\', [1])'), '1')`), "takes its structure", theTexts},
		{"run a subquery in a structure, by escapes", nobody, sql(`SELECT b FROM FORMAT('CSV', 'b Float64 DEFAULT arr\x61yReduce(\'quantile((SELECT 0.5))\', [1])', '1')`), "takes its structure", theTexts},
		{"run a subquery in a structure, of a parameter", nobody, get("query", "SELECT b FROM format(CSV, {s:String}, '1')", "param_s", "b Float64 DEFAULT arrayReduce('quantile((SELECT 0.5))', [1])"), "takes its structure", theTexts},
		{"run a subquery in a structure, behind a format of a parameter", nobody, get("query", "SELECT b FROM format({f:String}, 'b Float64 DEFAULT arrayReduce(\\'quantile((SELECT throwIf(1)))\\', [1])', '1')", "param_f", "CSV"), "takes its structure", theTexts},
		{"run a subquery in a structure, behind braces", nobody, sql(`SELECT b FROM system.one, format('{}', concat('b Float64 DEFAULT arrayRe', 'duce(\'quantile((SELECT toFloat64(throwIf(1))))\', [1])'), '1')`), "takes its structure", theTexts},
		{"run a subquery in a structure of values", nobody, sql(`SELECT b FROM values('a Int8, b Float64 DEFAULT arrayReduce(\'quantile((SELECT 0.5))\', [1])', (1, 2))`), "begins with a plain structure", theTexts},
		{"run a subquery in a structure of values, by an alias", nobody, sql(`WITH 'b Float64 DEFAULT arrayReduce(\'quantile((SELECT 0.5))\', [1])' AS s SELECT b FROM values(s, 1)`), "begins with a plain structure", theTexts},
		{"run a subquery in a structure of values, in brackets", nobody, sql(`SELECT b FROM values(('b Float64 DEFAULT arrayReduce(\'quantile((SELECT 0.5))\', [1])'), 1)`), "begins with a plain structure", theTexts},
		{"run a subquery in a structure of values, of digits", nobody, sql(`SELECT b FROM values(x'6220496E7438', 1)`), "begins with a plain structure", theTexts},
		{"run a subquery in a structure of values, with a name", nobody, sql(`SELECT s FROM values('b Float64' AS s, 1)`), "begins with a plain structure", theTexts},
		{"run a subquery in a row, by a template", nobody, sql(`SELECT * FROM format(Values, 'a Float64', $q$(arrayReduce($$quantile((SELECT 0.5))$$, [1,2]))$q$)`), "Interpreting expressions is disabled", theSettings},
		{"run a subquery in a row, by a template, with the setting", nobody, sql(`SELECT 1 SETTINGS input_format_values_deduce_templates_of_expressions = 1`), "SETTING_CONSTRAINT_VIOLATION", theSettings},
		{"run a subquery in a structure for a schema", nobody, sql(`SELECT * APPLY structureToProtobufSchema FROM (SELECT 'b Float64 DEFAULT 1' AS a)`), "is not allowed", theTexts},
		{"run a subquery in a structure for a schema, by escapes", nobody, sql("SELECT * APPLY `structureTo\\x50rotobufSchema` FROM (SELECT 'b Float64 DEFAULT 1' AS a)"), "a backslash in a name", theTexts},
		{"run a subquery in a structure for a schema, in a structure", nobody, sql(`SELECT * FROM format(CSV, $s$c String DEFAULT structureToProtobufSchema('b Int8')$s$, 'z')`), "takes its structure", theTexts},
		{"run a subquery in a structure that is a hint", nobody, sql(`SELECT * FROM format(JSONEachRow, '{"b":1}') SETTINGS schema_inference_hints = 'b Float64 DEFAULT 1'`), "SETTING_CONSTRAINT_VIOLATION", theSettings},
		{"run a subquery by the name of a function in a setting", nobody, sql(`SELECT count(DISTINCT 'sum', [1]) SETTINGS count_distinct_implementation = 'arrayReduce', enable_analyzer = 0`), "SETTING_CONSTRAINT_VIOLATION", theSettings},
		{"run a subquery in a structure of random rows", nobody, sql(`SELECT b FROM generateRandom('b Float64 DEFAULT arrayReduce(\'quantile((SELECT 0.5))\', [1])')`), "generateRandom is not allowed", theTexts},
		{"run a subquery in a structure without rows", nobody, sql("DESCRIBE `null`('b Float64 DEFAULT arrayReduce(\\'quantile((SELECT 0.5))\\', [1])')"), "null is not allowed", theTexts},
		{"run a subquery in a structure of a program", nobody, sql(`SELECT b FROM executable('x', 'CSV', 'b Float64 DEFAULT arrayReduce(\'quantile((SELECT 0.5))\', [1])')`), "executable is not allowed", theTexts},
		{"run a subquery in a structure of a lake", nobody, sql(`SELECT b FROM icebergS3('x', 'CSV')`), "icebergS3 is not allowed", theTexts},
		{"run a subquery in a table's structure", nobody, form("query", "SELECT 1", "x_structure", "b Float64 DEFAULT arrayReduce('quantile((SELECT 0.5))', [1])"), "The structure of the external table", theTexts},
		{"run statements at random", nobody, sql("SELECT 1 SETTINGS ast_fuzzer_runs = 100"), "SETTING_CONSTRAINT_VIOLATION", theSettings},
		{"write a schema", nobody, sql("SELECT 1 SETTINGS output_format_schema = " + out + " FORMAT Protobuf"), "SETTING_CONSTRAINT_VIOLATION", theSettings},
		{"move a directory away", programmer, sql("ATTACH TABLE kubevoltracker.x FROM '" + at.outside + "' (a Int8) ENGINE = MergeTree ORDER BY a"), "must be inside", "ClickHouse attaches only what is in its own directory"},
		{"move a directory away by a link", nobody, get("query", "ATTACH TABLE kubevoltracker.x FROM '"+at.outside+"' (a Int8) ENGINE = MergeTree ORDER BY a"), "reads only", theGate},
	}
}

func (at *target) changes() []attempt {
	const readsOnly = "reads only"
	list := []attempt{
		{"leave the read-only mode", nobody, sql("SET readonly = DEFAULT"), readsOnly, theGate},
		{"leave the read-only mode of a session", nobody, request{path: "/?session_id=a", body: "SET readonly = DEFAULT"}, readsOnly, theGate},
		{"leave the read-only mode for a statement", nobody, sql("SELECT 1 SETTINGS readonly = DEFAULT"), "cannot be reset", theLimits},
		{"leave the read-only mode by a link", nobody, get("query", "DROP TABLE kubevoltracker.victim", "readonly", "0"), readsOnly, theGate},
		{"take another profile", nobody, get("query", "SELECT 1", "profile", "default"), "SETTING_CONSTRAINT_VIOLATION", theList},
		{"take more memory", nobody, get("query", "SELECT 1", "max_memory_usage", "9000000000"), "SETTING_CONSTRAINT_VIOLATION", theLimits},
		{"take more memory in a subquery", nobody, sql("SELECT * FROM (SELECT 1 SETTINGS max_memory_usage = 0)"), "not allowed in a subquery", theLimits},
		{"overflow the parser's stack", nobody, request{path: "/?max_parser_depth=100000000", body: "SELECT " + strings.Repeat("NOT ", 100_000) + "1"}, "SETTING_CONSTRAINT_VIOLATION", theLimits},
		{"parse more than memory can hold", nobody, get("query", "SELECT 1", "max_ast_elements", "100000000"), "SETTING_CONSTRAINT_VIOLATION", theLimits},
		{"take more memory before FORMAT", nobody, sql("SELECT 1 SETTINGS max_memory_usage = 9000000000000 FORMAT JSONColumns SETTINGS max_threads = 1"), "SETTING_CONSTRAINT_VIOLATION", theLimits},
		{"take more memory for a statement", nobody, sql("SELECT 1 SETTINGS max_memory_usage = DEFAULT"), "cannot be reset", theLimits},
		{"take more memory, commented", nobody, sql("SELECT 1 SETTINGS max_memory_usage /* */ = /* */ default"), "cannot be reset", theLimits},
		{"shut the engine down, as the writer", programmer, sql("SYSTEM SHUTDOWN"), "Not enough privileges", theRights},
		{"make the engine fail, as the writer", programmer, sql("SYSTEM ENABLE FAILPOINT dummy_failpoint"), "Not enough privileges", theRights},
		{"make a user, as the writer", programmer, sql("CREATE USER x"), "Not enough privileges", theRights},
		{"speak another language", nobody, sql("SELECT 1 SETTINGS dialect = 'kusto'"), "SETTING_CONSTRAINT_VIOLATION", theSettings},
		{"crash the engine", nobody, sql("SELECT * FROM viewExplain('EXPLAIN TABLE OVERRIDE', '', (SELECT 1))"), "viewExplain is not allowed", theTables},
		{"leave SELECT out", nobody, get("query", "FROM numbers(1)", "implicit_select", "1"), "SETTING_CONSTRAINT_VIOLATION", theList},
		{"take memory that is not counted", nobody, sql("SELECT 1 SETTINGS max_untracked_memory = 1000000000000, memory_profiler_step = 1000000000000"), "SETTING_CONSTRAINT_VIOLATION", theList},
		{"take memory that is not counted, as the writer", programmer, sql("SELECT 1 SETTINGS max_untracked_memory = 1000000000000"), "SETTING_CONSTRAINT_VIOLATION", theSettings},
		{"take another profile for a statement", nobody, sql("SELECT 1 SETTINGS profile = 'default'"), "SETTING_CONSTRAINT_VIOLATION", theList},
		{"take a setting that is not on the list, behind one that is", nobody, sql("SELECT 1 SETTINGS final, max_threads = 1, `log_queries` = 0"), "SETTING_CONSTRAINT_VIOLATION", theList},
		{"take a setting that is not on the list by a session", nobody, get("query", "SELECT 1", "session_id", "a", "compatibility", "21.1"), "SETTING_CONSTRAINT_VIOLATION", theList},
		{"evade the kill of statements", nobody, sql("SELECT 1 SETTINGS s3queue_default_zookeeper_path = 'x'"), "SETTING_CONSTRAINT_VIOLATION", theSettings},
	}
	for _, statement := range []string{
		"INSERT INTO kubevoltracker.victim VALUES (8, 'x')", "INSERT INTO kubevoltracker.victim SELECT 8, 'x'", "WITH 8 AS x INSERT INTO kubevoltracker.victim SELECT x, 'x'",
		"DROP TABLE kubevoltracker.victim SYNC", "DROP DATABASE kubevoltracker", "TRUNCATE TABLE kubevoltracker.victim", "ALTER TABLE kubevoltracker.victim DELETE WHERE 1",
		"DETACH TABLE kubevoltracker.victim PERMANENTLY", "RENAME TABLE kubevoltracker.victim TO kubevoltracker.x", "OPTIMIZE TABLE kubevoltracker.victim FINAL",
		"CREATE TABLE kubevoltracker.x (a Int8) ENGINE = Memory", "CREATE VIEW kubevoltracker.x AS SELECT 1", "CREATE TEMPORARY TABLE x (a Int8)",
		"CREATE FUNCTION x AS a -> a", "SYSTEM SHUTDOWN", "SYSTEM ENABLE FAILPOINT dummy_failpoint", "SYSTEM STOP MERGES", "KILL QUERY WHERE 1",
		"CREATE USER x", "GRANT ALL ON *.* TO default", "SET ROLE ALL", "EXECUTE AS default SELECT 1", "BACKUP TABLE kubevoltracker.victim TO Memory('x')", "USE system",
	} {
		list = append(list, attempt{"reader: " + statement, nobody, sql(statement), readsOnly, theGate})
	}
	// ClickHouse checks none of these settings.
	for _, settings := range []string{"max_memory_usage = 0", "s3queue_default_zookeeper_path = 'x'", "final, readonly = 0", "1x = 0, max_result_rows = 0", "`max_memory_usage` = 0", "“max_memory_usage” = 0"} {
		for _, statement := range []string{
			"SELECT 1 SETTINGS %s UNION ALL SELECT 1", "SELECT 1 SETTINGS %s UNION DISTINCT SELECT 1 SETTINGS max_threads = 1", "SELECT 1 SETTINGS %s INTERSECT SELECT 1",
			"SELECT 1 SETTINGS %s EXCEPT (SELECT 2)", "WITH 1 AS x SELECT x SETTINGS %s UNION ALL FROM numbers(1) SELECT 1", "FROM numbers(1) SELECT 1 SETTINGS %s /* */ union all SELECT 1",
			"EXPLAIN SELECT 1 SETTINGS %s UNION ALL SELECT 1", "SELECT 1 SETTINGS %s UNION ALL SELECT 1 FORMAT TSV SETTINGS max_threads = 1",
			"DESCRIBE SELECT 1 SETTINGS %s", "DESC TABLE WITH 1 AS x SELECT x SETTINGS %s", "DESCRIBE (SELECT 1) UNION ALL SELECT 1 SETTINGS %s", "DESCRIBE SELECT 1 FORMAT TSV SETTINGS %s",
			"SELECT (SELECT 1 SETTINGS %s)", "SELECT * FROM view(SELECT 1 SETTINGS %s)", "WITH t AS (SELECT 1 SETTINGS %s) SELECT * FROM t", "SELECT 1 WHERE 1 IN (SELECT 1 SETTINGS %s UNION ALL SELECT 2)",
		} {
			statement = fmt.Sprintf(statement, settings)
			list = append(list, attempt{"reader: " + statement, nobody, sql(statement), "SETTINGS are not allowed in a subquery, before UNION", theLimits})
		}
	}
	return append(list, attempt{"keep a table of a union with more memory, as the writer", programmer, sql("CREATE TABLE kubevoltracker.x ENGINE = Memory AS SELECT 1 AS a SETTINGS max_memory_usage = 0 UNION ALL SELECT 1"), "SETTINGS are not allowed in a subquery, before UNION", theLimits})
}

func (at *target) calls() []attempt {
	web := "'http://" + at.decoy + "/x'"
	return []attempt{
		{"call a web server, as the writer", programmer, sql("SELECT * FROM url(" + web + ", 'CSV', 'a String')"), "Not enough privileges", theRights},
		{"call an object store, as the writer", programmer, sql("SELECT * FROM s3('http://" + at.decoy + "/bucket/x', 'CSV', 'a String')"), "Not enough privileges", theRights},
		{"call another ClickHouse, as the writer", programmer, sql("SELECT * FROM remote('" + at.decoy + "', system, one)"), "Not enough privileges", theRights},
		{"call a MySQL, as the writer", programmer, sql("SELECT * FROM mysql('" + at.decoy + "', 'a', 'b', 'c', 'd')"), "Not enough privileges", theRights},
		{"call a PostgreSQL, as the writer", programmer, sql("SELECT * FROM postgresql('" + at.decoy + "', 'a', 'b', 'c', 'd')"), "Not enough privileges", theRights},
		{"call a web server by a table", programmer, sql("CREATE TABLE kubevoltracker.u (a Int8) ENGINE = URL(" + web + ", 'CSV')"), "Not enough privileges", theRights},
		{"call an object store by a table", programmer, sql("CREATE TABLE kubevoltracker.u (a Int8) ENGINE = GCS(" + web + ", 'CSV')"), "Not enough privileges", theRights},
		{"call another ClickHouse by a table", programmer, sql("CREATE TABLE kubevoltracker.u (a Int8) ENGINE = Remote('" + at.decoy + "', system, one)"), "Not enough privileges", theRights},
		{"call a web server by a disk", programmer, sql("CREATE TABLE kubevoltracker.u (a Int8) ENGINE = MergeTree ORDER BY a SETTINGS disk = disk(type = web, endpoint = 'http://" + at.decoy + "/x/')"), "", theKernel},
		{"call a lake's catalog", programmer, sql("CREATE DATABASE u ENGINE = DataLakeCatalog('http://" + at.decoy + "/x') SETTINGS catalog_type = 'rest', warehouse = 'x'"), "", theKernel},
		{"restore from an object store", programmer, sql("RESTORE TABLE kubevoltracker.u FROM S3('http://" + at.decoy + "/b/x', 'a', 'b')"), "", theKernel},
		{"look a name up, as the writer", programmer, sql("SELECT * FROM url('http://attacker.example/x', 'CSV', 'a String')"), "Not enough privileges", theRights},
	}
}

func (at *target) doors() []attempt {
	query := "SELECT 1"
	write := "INSERT INTO kubevoltracker.victim VALUES (8, 'x')"
	return []attempt{
		{"log in as the writer without a password", nobody, get("query", query, "user", "kubevoltracker"), "AUTHENTICATION_FAILED", theLogin},
		{"log in as the writer by a guess", nobody, get("query", query, "user", "kubevoltracker", "password", "kubevoltracker"), "AUTHENTICATION_FAILED", theLogin},
		{"log in as the writer by a header", nobody, request{body: query, headers: []string{"X-ClickHouse-User", "kubevoltracker", "X-ClickHouse-Key", ""}}, "AUTHENTICATION_FAILED", theLogin},
		{"log in as a user of the engine", nobody, request{body: query, headers: []string{"X-ClickHouse-User", "root"}}, "AUTHENTICATION_FAILED", theLogin},
		{"write by two logins", nobody, request{path: "/?user=kubevoltracker&password=x", body: write, headers: []string{"X-ClickHouse-User", "default"}}, "reads only", theLogin},
		{"write by a web page's form", nobody, request{body: write, headers: []string{"Origin", "http://attacker.example"}}, "other sites", theBrowser},
		{"read by a web page", nobody, request{body: query, headers: []string{"Origin", "null"}}, "other sites", theBrowser},
		{"read by a web page without its origin", nobody, request{body: query, headers: []string{"Sec-Fetch-Site", "cross-site"}}, "other sites", theBrowser},
		{"read by a web page of the same machine", nobody, request{body: query, headers: []string{"Sec-Fetch-Site", "same-site"}}, "other sites", theBrowser},
		{"write by a web page, with the password that the browser remembers", programmer, request{body: write, headers: []string{"Origin", "http://attacker.example"}}, "other sites", theBrowser},
		{"keep tables in a session", nobody, form("query", "SELECT 1", "x_structure", "a Int8", "session_id", "s"), "NOT_IMPLEMENTED", "a reader's tables end with its request"},
		{"read by a rebound name", nobody, request{body: query, headers: []string{"Host", "attacker.example"}}, "must name the host", theBrowser},
		{"ask for leave as a web page", nobody, request{method: http.MethodOptions, path: "/?query=SELECT+1"}, "NOT_IMPLEMENTED", "no web page is given leave"},
		{"another method", nobody, request{method: http.MethodPut, path: "/?query=SELECT+1"}, "NOT_IMPLEMENTED", "GET and POST alone are served"},
		{"another path", nobody, request{method: http.MethodGet, path: "/../../etc/passwd?x=1"}, "There is no handle", "no file is served"},
		{"another path, escaped", nobody, request{method: http.MethodGet, path: "/..%2f..%2fetc%2fpasswd?x=1"}, "There is no handle", "no file is served"},
		{"a header in the id", nobody, get("query", "SELECT x", "query_id", "a\r\nX-Injected: 1"), "UNKNOWN_IDENTIFIER", "Go writes no line ends into headers"},
		{"take over a session of the writer", nobody, request{path: "/?session_id=w&session_check=1", body: query}, "SESSION_NOT_FOUND", "readers have sessions of their own"},
	}
}

// TestReadersCallOnlyTheTableFunctionsOnTheList calls each table function that this version of ClickHouse has.
func TestReadersCallOnlyTheTableFunctionsOnTheList(t *testing.T) {
	at := newTarget(t)
	_, names := at.send(t, nobody, sql("SELECT name FROM system.table_functions ORDER BY name"))
	var allowed []string
	for name := range strings.FieldsSeq(names) {
		_, answer := at.send(t, nobody, sql("SELECT * FROM "+name+"(x)"))
		if err := at.unharmed(t, answer); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !strings.Contains(answer, "the table function "+name+" is not allowed") {
			allowed = append(allowed, name)
		}
	}
	const want = "SQLStandardValues format generateSeries generate_series merge numbers numbers_mt values view zeros zeros_mt"
	if got := strings.Join(allowed, " "); got != want {
		t.Errorf("readers may call %s, want %s", got, want)
	}
}

// TestNoneGetsThrough makes one attack after the other, and looks after each whether it has reached anything.
func TestNoneGetsThrough(t *testing.T) {
	at := newTarget(t)
	if err := os.Symlink(at.secret, filepath.Join(at.data, "link")); err != nil {
		t.Fatal(err)
	}
	at.files = at.filesOfTheEngine(t)
	if status, answer := at.send(t, programmer, request{path: "/?session_id=w", body: "CREATE TEMPORARY TABLE mine (a Int8)"}); status != http.StatusOK {
		t.Fatal(answer)
	}
	attempts := 0
	for group, list := range map[string][]attempt{
		"read": at.reads(), "write": at.writes(), "change": at.changes(), "call": at.calls(), "enter": at.doors(),
	} {
		t.Run(group, func(t *testing.T) {
			for _, a := range list {
				attempts++
				at.withstand(t, a)
			}
		})
	}
	if t.Logf("%d attacks", attempts); attempts < 60 {
		t.Errorf("only %d attacks", attempts)
	}
}
