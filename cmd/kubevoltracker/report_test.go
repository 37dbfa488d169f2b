package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
)

// hostileName is no name that Kubernetes allows, and nothing must break by it.
const hostileName = "it's \"a\\b\" \t$HOME `x` | ; --\n日本"

// TestReportsFromTheCommandLine asks a real engine, with a volume of a hostile name that a pod has mounted.
func TestReportsFromTheCommandLine(t *testing.T) {
	engine := &catalogtest.Engine{Dir: t.TempDir()}
	if err := engine.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(engine.Kill)
	t.Setenv("KUBEVOLTRACKER_CATALOG_URL", "http://"+engine.Address+"/kubevoltracker")
	t.Setenv("KUBEVOLTRACKER_CATALOG_USERNAME", catalogtest.User)
	t.Setenv(passwordVariable, catalogtest.Password)
	for _, args := range [][]string{
		{"schema", "migrate"},
		{"sql", "--write", "INSERT INTO coverage (cluster, instance, kind, started_at, seen_at, version) VALUES ('east', 'a', 'Pod', '2026-01-01', now(), 1)"},
		{"sql", "--write", "INSERT INTO volumes (cluster, uid, name, version) SELECT 'east', 'v', {name:String}, 1", "--param=name=" + hostileName},
		{"sql", "--write", "INSERT INTO pods (cluster, uid, namespace, name, version) VALUES ('east', 'p', 'shop', 'web', 1)"},
		{"sql", "--write", "INSERT INTO claims (cluster, uid, namespace, name, volume_uid, version) VALUES ('east', 'c', 'shop', 'data', 'v', 1)"},
		{"sql", "--write", "INSERT INTO mounts (cluster, namespace, claim_name, claim_uid, pod_uid, container, volume_uid, workload_kind, workload_name, started_at, version) VALUES ('east', 'shop', 'data', 'c', 'p', 'main', 'v', 'Pod', 'web', '2026-01-01 12:00:00', 1)"},
	} {
		if code, out, errs := outputOf(args...); code != 0 {
			t.Fatalf("%v: %s%s", args, out, errs)
		}
	}
	const row = "cluster,workload,pods\neast,Pod/web,1\n"
	code, out, errs := outputOf("report", "apps", hostileName, "--columns=cluster,workload,pods", "-o", "csv")
	if code != 0 || out != row || errs != "" {
		t.Errorf("%d, %s, %s", code, out, errs)
	}
	code, out, errs = outputOf("report", "apps", "shop/none", "-o", "json")
	if code != 0 || out != "[]\n" || errs != "note: no rows for \"shop/none\"; `kubevoltracker report find \"shop/none\"` lists what has that name\n" {
		t.Errorf("%d, %s, %s", code, out, errs)
	}
	code, _, errs = outputOf("report", "apps", "x", "--columns=pod")
	if code != 2 || !strings.Contains(errs, `--columns: there is no column "pod"; there are cluster, persistentvolume`) {
		t.Errorf("%d, %s", code, errs)
	}
	var pages interruptedWriter
	var notes bytes.Buffer
	code = run([]string{"kubevoltracker", "report", "apps", "shop/none", "-o", "json", "--watch=1h"}, &pages, &notes)
	if code != 0 || pages.String() != "[]\n" || !strings.HasPrefix(notes.String(), "note: no rows for") {
		t.Errorf("watched: %d, %s, %s", code, pages.String(), notes.String())
	}
	runPrintedSQL(t)
}

// interruptedWriter keeps what is written to it, and then presses Ctrl-C.
type interruptedWriter struct{ bytes.Buffer }

func (w *interruptedWriter) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	self, findErr := os.FindProcess(os.Getpid())
	return n, errors.Join(err, findErr, self.Signal(os.Interrupt))
}

// runPrintedSQL has bash run what --sql prints, by the command line in its first comment.
func runPrintedSQL(t *testing.T) {
	t.Helper()
	code, script, errs := outputOf("report", "apps", hostileName, "--sql")
	dir := t.TempDir()
	file := filepath.Join(dir, "apps.sql")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil || code != 0 {
		t.Fatalf("%v, %d, %s", err, code, errs)
	}
	if out, err := exec.Command("go", "build", "-o", dir, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	comment, _, _ := strings.Cut(script, "-- or by")
	_, command, _ := strings.Cut(strings.ReplaceAll(comment, "\n--", "\n"), "\n")
	command = strings.Replace(strings.TrimSpace(command), "=FILE", "="+file, 1) + " -o csv"
	shell := exec.Command("bash", "-c", command)
	shell.Env = append(os.Environ(), "PATH="+dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	out, err := shell.CombinedOutput()
	if err != nil || !strings.Contains(string(out), ",shop,Pod/web,") {
		t.Errorf("%v, %s\n%s", err, command, out)
	}
}
