package app_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-kit/log"
	"github.com/klauspost/compress/zstd"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/cmd/kubevoltracker/app"
	"github.com/kubevoltracker/kubevoltracker/collector"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/redact"
	"github.com/kubevoltracker/kubevoltracker/exporter"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// logged is the output of a log.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// canaryOptions are the options of a tracker that watches a server and logs all that it can.
func canaryOptions(t *testing.T, s *apiServer, out *logged, url string) app.Options {
	t.Helper()
	policy, err := redact.New("example.com/kept")
	if err != nil {
		t.Fatal(err)
	}
	return app.Options{
		Client: collector.ClientOptions{Kubeconfig: s.start(t), UserAgent: "test"}, DataDir: t.TempDir(), JournalBytes: 1 << 30,
		Web: exporter.ServerOptions{ListenAddresses: []string{"127.0.0.1:0"}}, Metrics: exporter.Options{PerVolume: true, ClaimLabels: exporter.LabelKeys{"app", "api-token"}, NamespaceLabels: exporter.LabelKeys{"app", "api-token"}},
		Features: collector.Features{Owners: true, Attachments: true, StorageCapacity: true},
		Catalog:  catalog.Options{URL: url, Password: catalogtest.Password}, Policy: policy, Logger: log.NewLogfmtLogger(out),
	}
}

// saidEverywhere runs a tracker of a server, without a ClickHouse and then with one, and returns what
// it has said, by place: the journal's files, records and rows, the metrics, the log, and the tables.
func saidEverywhere(t *testing.T, s *apiServer) map[string]string {
	t.Helper()
	said, out := map[string]string{}, &logged{}
	clickhouse := harness.NewClickHouse(t)
	o := canaryOptions(t, s, out, clickhouse.URL("kubevoltracker"))
	run := func(place string, lines []string) {
		r := runApp(t, o)
		for _, line := range lines {
			r.expectLine(t, line)
		}
		said["metrics "+place], _ = r.get("/metrics")
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
	}
	var counts []string
	for path, list := range s.first {
		kind := kindOf(path, list[0])
		counts = append(counts, fmt.Sprintf(`kubevoltracker_inventory_objects{kind="%s"} %d`, kind, len(list)+len(s.later[path])))
	}
	run("without ClickHouse", counts)
	said["journal"] = journalText(t, o.DataDir)
	clickhouse.Start()
	run("with ClickHouse", append(counts, "kubevoltracker_journal_facts 0", "kubevoltracker_catalog_up 1"))
	said["journal afterwards"] = journalText(t, o.DataDir)
	said["log"] = out.String()
	for _, table := range strings.Split(ask(t, o.Catalog, "SELECT arrayStringConcat(groupArray(name), ' ') FROM system.tables WHERE database = currentDatabase()"), " ") {
		said["table "+table] = tableText(t, o.Catalog, table)
		if strings.Contains(said["table "+table], "exception") || said["table "+table] == "" && table == "objects" {
			t.Fatalf("%s: %s", table, said["table "+table])
		}
	}
	return said
}

func tableText(t *testing.T, o catalog.Options, table string) string {
	t.Helper()
	c, err := catalog.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	rows, err := c.Query(t.Context(), "SELECT * FROM "+table, nil)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := rows.Write(&text, catalog.Format("json")); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// journalText is all that is in a data directory: the records of the journal, and the bytes of the files.
func journalText(t *testing.T, dir string) string {
	t.Helper()
	var text strings.Builder
	text.WriteString(journalRecords(t, dir))
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		text.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// journalRecords are the records of a journal's state, and its rows, unpacked.
func journalRecords(t *testing.T, dir string) string {
	t.Helper()
	var text bytes.Buffer
	j, err := journal.Open(t.Context(), journal.Options{Path: filepath.Join(dir, "journal"), Logger: log.NewNopLogger()})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range fact.Kinds() {
		for _, suffix := range []string{"", ".snapshot"} {
			if err := j.State(string(kind)+suffix, func(uid string, data []byte) error { text.WriteString(uid); text.Write(data); return nil }); err != nil {
				t.Fatal(err)
			}
		}
	}
	unpack, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	for after, rows := uint64(0), 0; rows < j.Stats().Rows; {
		entry, err := j.Next(t.Context(), after)
		if err != nil {
			t.Fatal(err)
		}
		facts, err := unpack.DecodeAll(entry.Facts[1:], nil) // behind the byte of their form
		if err != nil {
			t.Fatal(err)
		}
		text.Write(facts)
		after, rows = entry.Number, rows+entry.Rows
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

var canaryText = regexp.MustCompile(`canary(\d{5})x`)

// TestEveryFieldThatIsKeptIsOnTheList puts a canary into every text of every watched kind, and looks
// for it in all that the tracker writes: tables, journal, metrics and log.
func TestEveryFieldThatIsKeptIsOnTheList(t *testing.T) {
	c := &canaries{}
	s := &apiServer{first: c.objects(), later: c.objects()}
	said := saidEverywhere(t, s)
	found := map[string][]string{} // by path: the places
	for place, text := range said {
		for _, m := range canaryText.FindAllStringSubmatch(text, -1) {
			n, _ := strconv.Atoi(m[1])
			if path := c.paths[n]; !slices.Contains(found[path], place) {
				found[path] = append(found[path], place)
			}
		}
	}
	kept := keptPaths()
	for path, places := range found {
		if !kept[path] {
			slices.Sort(places)
			t.Errorf("%s is not on the list, and is in %s", path, strings.Join(places, ", "))
		}
	}
	for path := range kept {
		if len(found[path]) == 0 {
			t.Errorf("%s is on the list, and is kept nowhere", path)
		}
	}
	for _, place := range []string{"metrics with ClickHouse", "journal", "journal afterwards", "table objects", "table volumes", "table claims", "table mounts", "table volume_sources"} {
		if !canaryText.MatchString(said[place]) {
			t.Errorf("nothing at all is in %s", place)
		}
	}
}
