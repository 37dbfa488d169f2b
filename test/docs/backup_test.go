package docs_test

import (
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/test/docs"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// shell runs commands of docs/operate.md in a directory, and returns their exit status.
func shell(t *testing.T, dir, script string, variables ...string) (status int, output string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), variables...)
	out, err := cmd.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// TestAnExportThatIsCutFails exports a table that is larger than a reader's limit. The engine notices it when it has sent
// the status 200 and rows.
func TestAnExportThatIsCutFails(t *testing.T) {
	c := catalogtest.OpenMigrated(t, engine)
	catalogtest.Rows(t, c, "INSERT INTO changes (cluster, at, kind, uid) SELECT 'east', '2026-01-01 00:00:00', 'Pod', toString(number) FROM numbers(50000)")
	script := strings.NewReplacer("127.0.0.1:8123", engine, "database=kubevoltracker", "database="+c.Database()).
		Replace(docs.Find(t, "docs/operate.md").Script(t, "Export. The tracker runs."))
	limited := strings.Replace(script, "&final=1", "&final=1&max_block_size=1000&max_result_rows=45000", 1)
	dir := t.TempDir()
	status, out := shell(t, dir, limited)
	if cut, err := os.Stat(filepath.Join(dir, exportIn(t, dir), "changes.native")); err != nil || cut.Size() == 0 {
		t.Fatalf("no rows of the large table have come: %v\n%s", err, out)
	}
	if status != 18 || !strings.HasSuffix(exportIn(t, dir), ".part") {
		t.Errorf("status %d, want curl's 18, and %s is there\n%s", status, exportIn(t, dir), out)
	}
	if status, out := shell(t, dir, script); status == 0 {
		t.Errorf("the next export takes the directory\n%s", out)
	}
	if err := os.RemoveAll(filepath.Join(dir, exportIn(t, dir))); err != nil {
		t.Fatal(err)
	}
	if status, out := shell(t, dir, script); status != 0 || strings.HasSuffix(exportIn(t, dir), ".part") {
		t.Errorf("status %d within the limits\n%s", status, out)
	}
	if status, out := shell(t, dir, script); status == 0 {
		t.Errorf("another export replaces that of the same day\n%s", out)
	}
}

// TestARestoreAsksNoServerOfAnother restores while another server has the port of the engine.
func TestARestoreAsksNoServerOfAnother(t *testing.T) {
	var asked atomic.Int64
	another := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer another.Close()
	dir, address := t.TempDir(), another.Listener.Addr().String()
	if err := os.WriteFile(filepath.Join(dir, "password"), []byte("by hand\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	script := strings.ReplaceAll(docs.Find(t, "docs/operate.md").Script(t, "Restore the export. The tracker is stopped."), "127.0.0.1:8123", address)
	status, out := shell(t, dir, script, "PATH="+harness.File(t, ".cache/bin")+":"+os.Getenv("PATH"),
		"KUBEVOLTRACKER_CLICKHOUSE_LISTEN_ADDRESS="+address, "KUBEVOLTRACKER_CATALOG_URL=http://"+address+"/kubevoltracker")
	if n := asked.Load(); status == 0 || n > 0 || !strings.Contains(out, "in use by another process") {
		t.Errorf("status %d, %d requests\n%s", status, n, out)
	}
}

// exportIn returns the name of the one export in a directory.
func exportIn(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || !strings.HasPrefix(entries[0].Name(), "export-") {
		t.Fatalf("the exports are %v, %v", entries, err)
	}
	return entries[0].Name()
}

// volume is a stand-in for the volume of a tracker in a cluster: a directory whose files say of which time they are.
type volume struct {
	dir  string
	page *docs.Page
}

// helperKubectl is a stand-in for kubectl. It runs here what kubectl runs in the helper.
const helperKubectl = `#!/bin/sh
case $1 in
get) echo node-1 ;;
apply) cat >applied.yaml ;;
exec)
	while [ "$1" != -- ]; do shift; done
	shift
	exec "$@"
	;;
esac
`

func newVolume(t *testing.T) volume {
	t.Helper()
	v := volume{t.TempDir(), docs.Find(t, "docs/operate.md")}
	if err := errors.Join(os.Mkdir(v.path("bin"), 0o700), os.WriteFile(v.path("bin/kubectl"), []byte(helperKubectl), 0o700)); err != nil {
		t.Fatal(err)
	}
	return v
}

// run runs commands of docs/operate.md.
func (v volume) run(t *testing.T, script string) (status int, output string) {
	t.Helper()
	return shell(t, v.dir, strings.ReplaceAll(script, "/data", v.path("data")), "PATH="+v.path("bin")+":"+os.Getenv("PATH"))
}

func (v volume) path(name string) string { return filepath.Join(v.dir, name) }

// is makes the volume one of a time, with these files.
func (v volume) is(t *testing.T, files ...string) {
	t.Helper()
	if err := os.RemoveAll(v.path("data")); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := v.path(filepath.Join("data", file))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// has checks which files are in the directories of the volume.
func (v volume) has(t *testing.T, when string, want ...string) {
	t.Helper()
	var got []string
	data := os.DirFS(v.path("data"))
	err := fs.WalkDir(data, ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.Contains(path, "/") {
			got = append(got, path)
		}
		return err
	})
	slices.Sort(want)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%s: the volume has %q, want %q, %v", when, got, want, err)
	}
}

// TestARestoreInAClusterCanBeRepeated interrupts the commands of docs/operate.md that restore a copy, and runs them again.
func TestARestoreInAClusterCanBeRepeated(t *testing.T) {
	v := newVolume(t)
	v.is(t, "tracker/copy", "clickhouse/copy")
	if status, out := v.run(t, v.page.Script(t, "Copy the journal and the embedded catalog.")); status != 0 || !strings.HasSuffix(out, "complete\n") {
		t.Fatalf("the copy ends with %d\n%s", status, out)
	}
	restore := v.page.Script(t, "Restore the copy. The second command")
	second := restore[strings.LastIndex(restore, "\nkubectl"):]
	restored := []string{"tracker/copy", "clickhouse/copy", "old/tracker/now", "old/clickhouse/now"}
	for name, c := range map[string]struct {
		before []string
		script string
	}{
		"at first":                       {[]string{"tracker/now", "clickhouse/now"}, restore},
		"after a stream that was cut":    {[]string{"tracker/now", "clickhouse/now", "restored/tracker/part"}, restore},
		"once the journal is aside":      {[]string{"clickhouse/now", "old/tracker/now", "restored/tracker/copy", "restored/clickhouse/copy", "restored/complete"}, second},
		"once the journal is restored":   {[]string{"tracker/copy", "clickhouse/now", "old/tracker/now", "restored/clickhouse/copy", "restored/complete"}, second},
		"once the catalog is aside":      {[]string{"tracker/copy", "old/tracker/now", "old/clickhouse/now", "restored/clickhouse/copy", "restored/complete"}, second},
		"once both are restored":         {append(restored, "restored/complete"), second},
		"after the start of the tracker": {[]string{"tracker/now", "clickhouse/now", "complete"}, restore},
	} {
		v.is(t, c.before...)
		if status, out := v.run(t, c.script); status != 0 {
			t.Errorf("%s: status %d\n%s", name, status, out)
		}
		v.has(t, name, restored...)
		if _, err := os.Stat(v.path("data/restored")); !os.IsNotExist(err) {
			t.Errorf("%s: data/restored stays: %v", name, err)
		}
	}
	if status, out := v.run(t, restore); status == 0 || !strings.Contains(out, "Directory not empty") {
		t.Errorf("a restore while /data/old is there ends with %d\n%s", status, out)
	}
	v.has(t, "while /data/old is there", append(restored, "restored/complete", "restored/clickhouse/copy", "restored/tracker/copy")...)
	cut := []string{"tracker/now", "clickhouse/now", "restored/tracker/part"}
	v.is(t, cut...)
	if status, out := v.run(t, second); status == 0 {
		t.Errorf("a copy without its end is restored\n%s", out)
	}
	v.has(t, "without the end of the copy", cut...)

	v.is(t, "clickhouse/export")
	exported := v.page.Script(t, "Make a copy of an export")
	if status, out := v.run(t, exported); status != 0 {
		t.Fatalf("the copy of an export ends with %d\n%s", status, out)
	}
	v.is(t, "tracker/now", "clickhouse/now")
	if status, out := v.run(t, strings.ReplaceAll(restore, "backup.tar", "export.tar")); status != 0 {
		t.Errorf("the restore of an export ends with %d\n%s", status, out)
	}
	v.has(t, "after an export", "clickhouse/export", "old/tracker/now", "old/clickhouse/now")
}

// TestWhatARestoreHasPutAsideIsDeletedBesideTheTracker runs the helper of docs/operate.md on the tracker's node: only that node
// can mount the volume (ReadWriteOnce).
func TestWhatARestoreHasPutAsideIsDeletedBesideTheTracker(t *testing.T) {
	v := newVolume(t)
	v.is(t, "tracker/copy", "clickhouse/copy", "old/tracker/former", "old/clickhouse/former")
	if err := os.WriteFile(v.path("helper.yaml"), []byte(v.page.Script(t, "helper.yaml")), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, out := v.run(t, v.page.Script(t, "Delete what a restore has put aside.")); status != 0 {
		t.Errorf("status %d\n%s", status, out)
	}
	v.has(t, "after the deletion", "tracker/copy", "clickhouse/copy")
	applied, err := os.ReadFile(v.path("applied.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var helper corev1.Pod
	if err := yaml.UnmarshalStrict(applied, &helper); err != nil || helper.Spec.NodeName != "node-1" || len(helper.Spec.Volumes) != 1 {
		t.Errorf("the helper is %+v, %v", helper.Spec, err)
	}
}
