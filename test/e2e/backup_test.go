package e2e

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubevoltracker/kubevoltracker/test/docs"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// place is where the commands of docs/operate.md run: a directory that has the tracker's directory data.
type place struct {
	away
	dir     string
	address string // of the catalog's HTTP interface
	page    *docs.Page
}

func newPlace(t *testing.T, namespace string) place {
	t.Helper()
	s := place{newAway(t, harness.Cluster(t), namespace), t.TempDir(), "127.0.0.1:" + harness.FreePort(t), docs.Find(t, "docs/operate.md")}
	if err := os.WriteFile(filepath.Join(s.dir, "password"), []byte("by hand\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s place) start(t *testing.T) *harness.Tracker {
	t.Helper()
	return harness.StartTracker(t, s.cluster.Kubeconfig, "--data-dir="+filepath.Join(s.dir, "data"), "--catalog.embedded-listen-address="+s.address)
}

// run runs the block of docs/operate.md that begins with a comment. The shell goes on after a command that fails, as that
// of a reader does.
func (s place) run(t *testing.T, comment string) (output string, err error) {
	t.Helper()
	shell := exec.Command("sh", "-c", strings.ReplaceAll(s.page.Script(t, comment), "127.0.0.1:8123", s.address))
	shell.Dir = s.dir
	shell.Env = append(os.Environ(), "PATH="+harness.File(t, ".cache/bin")+":"+os.Getenv("PATH"),
		"KUBEVOLTRACKER_CATALOG_URL=http://"+s.address+"/kubevoltracker", "KUBEVOLTRACKER_CLICKHOUSE_LISTEN_ADDRESS="+s.address)
	out, err := shell.CombinedOutput()
	return string(out), err
}

// do runs a block that has to succeed.
func (s place) do(t *testing.T, comment string) {
	t.Helper()
	if out, err := s.run(t, comment); err != nil {
		t.Fatalf("%s: %v\n%s", comment, err, out)
	}
}

// restoreCut tries to restore the export with a file that is cut.
func (s place) restoreCut(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.dir, "export-*", "mounts.native"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the export has %v, %v", files, err)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := s.run(t, "Restore the export. The tracker is stopped.")
	if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 22 {
		t.Errorf("a file that is cut: %v, want curl's status 22\n%s", err, out)
	}
	if l, err := net.Listen("tcp", s.address); err != nil {
		t.Errorf("the engine goes on: %v", err)
	} else {
		l.Close()
	}
	s.remove(t, "data/clickhouse")
	if err := os.WriteFile(files[0], whole, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s place) remove(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(s.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestACopyOfTheDataDirectoryIsABackup copies the directory of a tracker that is stopped, goes on, loses all, and
// restores the copy. The API server still has the events since, and the catalog gets them again.
func TestACopyOfTheDataDirectoryIsABackup(t *testing.T) {
	t.Parallel()
	s := newPlace(t, "copied")
	p := s.start(t)
	s.awaitKnown(t, p)
	p.Stop(t)
	s.do(t, "Copy. The tracker is stopped.")
	p = s.start(t)
	began, ended := s.pass(t)
	all := "SELECT claim_name, end_reason, started_at FROM mounts WHERE namespace = 'copied' ORDER BY claim_name"
	p.ExpectRows(t, "SELECT claim_name, end_reason FROM mounts WHERE namespace = 'copied' ORDER BY claim_name", "brief\tCompleted", "idle\tCompleted", "kept\t", "left\tCompleted")
	before, err := p.Query(all)
	if err != nil {
		t.Fatal(err)
	}
	p.Stop(t)
	s.do(t, "Restore the copy. The tracker is stopped.")
	p = s.start(t)
	p.ExpectRows(t, all, before...)
	s.leftWithin(t, p, began, ended)
	s.goesOn(t, p)
}

// TestAnExportIsABackup exports the catalog of a running tracker, goes on, loses it, and restores the export. The
// journal is put aside, so that what came and went since is unknown, and what ended since has bounds.
func TestAnExportIsABackup(t *testing.T) {
	t.Parallel()
	s := newPlace(t, "exported")
	p := s.start(t)
	s.awaitKnown(t, p)
	idle := s.lastUsed(t, p)
	for _, owner := range []string{"former", "present"} { // the claim has forgotten the former one
		patch := `{"metadata":{"annotations":{"kubevoltracker.io/owner":"` + owner + `"}}}`
		if _, err := s.cluster.Client.CoreV1().PersistentVolumeClaims(s.namespace).Patch(background, "kept", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		p.ExpectRows(t, "SELECT owner FROM claims WHERE namespace = 'exported' AND name = 'kept'", owner)
	}
	const owners = "SELECT DISTINCT owner FROM owner_namespaces WHERE namespace = 'exported' AND owner IN ('former', 'present') ORDER BY owner"
	p.ExpectRows(t, owners, "former", "present")
	s.do(t, "Export. The tracker runs.")
	began, ended := s.pass(t)
	p.ExpectRows(t, "SELECT count() FROM mounts WHERE namespace = 'exported' AND claim_name = 'brief' AND ended_at IS NOT NULL", "1")
	p.Stop(t)

	s.remove(t, "data/clickhouse")
	s.restoreCut(t)
	s.do(t, "Restore the export. The tracker is stopped.")
	s.do(t, "Put the journal aside. The tracker is stopped.")
	p = s.start(t)
	s.leftWithin(t, p, began, ended)
	p.ExpectRows(t, "SELECT count() FROM mounts WHERE namespace = 'exported' AND claim_name = 'brief'", "0")
	if again := s.lastUsed(t, p); again != idle {
		t.Errorf("the idle volume was last used at %s, and after the restore at %s", idle, again)
	}
	p.ExpectRows(t, owners, "former", "present")
	notesGap(t, p)
	s.goesOn(t, p)
}

// TestAnOlderJournalLosesNoRow restores an older copy of the journal beside the newer catalog. The tracker numbers its
// batches as the lost journal did, and ClickHouse must not take them for repetitions.
func TestAnOlderJournalLosesNoRow(t *testing.T) {
	t.Parallel()
	s := newPlace(t, "rewound")
	p := s.start(t)
	s.awaitKnown(t, p)
	p.Stop(t)
	s.do(t, "Copy. The tracker is stopped.")
	p = s.start(t)
	s.pass(t)
	for _, claim := range []string{"a", "b", "c", "d", "e"} { // in a batch each
		s.cluster.CreateClaim(t, s.namespace, claim, "standard")
		p.ExpectRows(t, "SELECT count() FROM claims WHERE namespace = 'rewound' AND name = '"+claim+"'", "1")
	}
	p.Stop(t)
	s.remove(t, "data/journal")
	copies, err := filepath.Glob(filepath.Join(s.dir, "backup-*"))
	if err != nil || len(copies) != 1 {
		t.Fatalf("the copies are %v, %v", copies, err)
	}
	if err := os.Rename(filepath.Join(copies[0], "journal"), filepath.Join(s.dir, "data", "journal")); err != nil {
		t.Fatal(err)
	}
	p = s.start(t)
	p.ExpectReady(t)
	s.goesOn(t, p)
}

// goesOn checks that the catalog gets what happens now.
func (s place) goesOn(t *testing.T, p *harness.Tracker) {
	t.Helper()
	s.cluster.CreateClaim(t, s.namespace, "later", "standard")
	p.ExpectRows(t, "SELECT name, phase FROM claims WHERE namespace = '"+s.namespace+"' AND name = 'later'", "later\tBound")
}
