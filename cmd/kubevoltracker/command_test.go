package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog"
)

// outputOf runs a command line in this process, and returns its exit code and what it printed.
func outputOf(args ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	code = run(append([]string{"kubevoltracker"}, args...), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestErrorsAreSafeOnATerminal(t *testing.T) {
	if _, _, errs := outputOf("report", "x\x1b[31m"); strings.ContainsRune(errs, '\x1b') || !strings.Contains(errs, `x\x1b[31m`) {
		t.Errorf("got %q", errs)
	}
}

func TestReportAloneListsAllReportsByTopic(t *testing.T) {
	code, out, errs := outputOf("report")
	if code != 0 || errs != "" {
		t.Errorf("%d, %s", code, errs)
	}
	for _, r := range catalog.Reports() {
		if r.Question == "" || r.Topic == "" || !strings.Contains(out, r.Question+"\n") || !strings.Contains(out, "\n  "+r.Name+" ") {
			t.Errorf("%s is missing, or its question or topic:\n%s", r.Name, out)
		}
		if n := strings.Count(out, "\n"+r.Topic+"\n"); n != 1 {
			t.Errorf("the topic of %s, %q, is there %d times:\n%s", r.Name, r.Topic, n, out)
		}
	}
}

func TestMisspeltNamesAreAnsweredWithTheNearest(t *testing.T) {
	for line, want := range map[string]string{
		"report userz":                         `expected command but got "userz"; did you mean users?`,
		"report creaton-rate":                  "did you mean creation-rate?",
		"reprot idle":                          "did you mean report?",
		"report idle --namspace=x":             "unknown long flag '--namspace'; did you mean --namespace?",
		"report mounts --no-runnning":          "did you mean --no-running?",
		"run --catalog.uri=x":                  "did you mean --catalog.url?",
		"report xylophone":                     `got "xylophone" (see kubevoltracker report --help)`,
		"report apps":                          "required argument 'volume' not provided (see kubevoltracker report apps --help)",
		"walk":                                 `expected command but got "walk" (see kubevoltracker --help)`,
		"report idle --sql --columns=volume":   "--columns chooses from the rows, and --sql prints no rows; leave out one of them",
		"report apps pv --since=1d --until=2d": "--since=1d is after --until=2d; swap them",
		"report space --columns=a --watch=-1s": "--watch=-1s: write how often, such as 2s",
		"sql":                                  "sql: give a statement, or a file with one by --file",
		"sql --file=/no/such/file":             "sql: --file: open /no/such/file",
		"report idle --output=xml":             `--output: "xml" is not one of table, json, csv, yaml, markdown`,
	} {
		code, _, errs := outputOf(strings.Fields(line)...)
		if code != 2 || !strings.Contains(errs, want) {
			t.Errorf("%s: %d, %s", line, code, errs)
		}
	}
}

func TestArgumentsOfThePlugin(t *testing.T) {
	for line, want := range map[string]string{
		"/usr/bin/kubevoltracker report":              "kubevoltracker: report list",
		"kubevoltracker report idle --watch":          "kubevoltracker: report idle --watch=2s",
		"kubevoltracker report idle --watch=5s":       "kubevoltracker: report idle --watch=5s",
		"kubevoltracker report idle --watch 5s":       "kubevoltracker: report idle --watch=5s",
		"kubevoltracker report find --watch pv-data":  "kubevoltracker: report find --watch=2s pv-data",
		"kubevoltracker report find --watch -- 5s":    "kubevoltracker: report find --watch=2s -- 5s",
		"kubevoltracker report find -- --watch":       "kubevoltracker: report find -- --watch",
		"/root/.krew/bin/kubectl-voltracker":          "kubectl voltracker: report list",
		"kubectl-voltracker report":                   "kubectl voltracker: report list",
		"kubectl-voltracker report idle":              "kubectl voltracker: report idle",
		"kubectl-voltracker.exe idle --watch -o yaml": "kubectl voltracker: report idle --watch=2s -o yaml",
		"kubectl-voltracker-old idle":                 "kubevoltracker: idle",
	} {
		called, args := arguments(strings.Fields(line))
		if got := string(called) + ": " + strings.Join(args, " "); got != want {
			t.Errorf("%s: got %s, want %s", line, got, want)
		}
	}
}

// TestThePluginNamesItselfAsItIsCalled looks for the name in the list of reports, in a hint, and in the help, which the
// program prints before it ends itself.
func TestThePluginNamesItselfAsItIsCalled(t *testing.T) {
	var out, errs, help bytes.Buffer
	run([]string{"kubectl-voltracker"}, &out, &errs)
	run([]string{"kubectl-voltracker", "idle", "--frobnicate"}, &out, &errs)
	application, _ := newApplication(asPlugin, &help, io.Discard)
	if _, err := application.Terminate(func(int) {}).Parse([]string{"report", "idle", "--help"}); err != nil {
		t.Error(err)
	}
	for _, sample := range []struct{ text, want string }{
		{out.String(), "kubectl voltracker NAME answers a question"},
		{out.String(), "kubectl voltracker NAME --help\n"},
		{errs.String(), "(see kubectl voltracker idle --help)"},
		{help.String(), "usage: kubectl voltracker idle [<flags>]"},
	} {
		if !strings.Contains(sample.text, sample.want) || strings.Contains(sample.text, "kubevoltracker report") {
			t.Errorf("%q is missing, or another name is there:\n%s", sample.want, sample.text)
		}
	}
}

// TestAReportWithoutATrackerNamesTheCure asks a port at which nothing listens as if it were the default address.
func TestAReportWithoutATrackerNamesTheCure(t *testing.T) {
	var network net.ListenConfig
	closed, err := network.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	url := "http://" + closed.Addr().String() + "/kubevoltracker"
	for usual, want := range map[string]bool{url: true, defaultCatalogURL: false} {
		f := &catalogFlags{url: url, usual: usual}
		err := f.ask(func(ctx context.Context, c *catalog.Catalog) error {
			_, err := c.RunReport(ctx, "idle", nil, 0)
			return err
		})
		if err == nil || !strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), "kubectl port-forward") != want {
			t.Errorf("by default %s: %v", usual, err)
		}
	}
}

// TestBashCompletes builds the program, and has bash complete command lines by the script that it prints.
func TestBashCompletes(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", dir, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const script = `source <(kubevoltracker completion bash)
COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _kubevoltracker_bash_autocomplete; printf '%s\n' "${COMPREPLY[@]}"`
	for line, want := range map[string]string{
		"kubevoltracker rep":                   "report",
		"kubevoltracker report cre":            "creation-rate",
		"kubevoltracker report app":            "apps app-changes",
		"kubevoltracker report idle --min":     "--min-idle",
		"kubevoltracker report space --by n":   "namespace",
		"kubevoltracker report idle --output ": "table json csv yaml markdown",
		"kubevoltracker completion ":           "bash zsh fish",
	} {
		cmd := exec.Command("bash", append([]string{"-c", script, "bash"}, strings.Split(line, " ")...)...)
		cmd.Env = append(os.Environ(), "PATH="+dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
		out, err := cmd.Output()
		got, wanted := strings.Fields(string(out)), strings.Fields(want)
		slices.Sort(got)
		slices.Sort(wanted)
		if err != nil || !slices.Equal(got, wanted) {
			t.Errorf("%s: %v, got %v, want %v", line, err, got, wanted)
		}
	}
	for _, shell := range []string{"zsh", "fish"} {
		out, err := exec.Command(filepath.Join(dir, "kubevoltracker"), "completion", shell).Output()
		if err != nil || !strings.Contains(string(out), "--completion-bash") || strings.Contains(string(out), "<no value>") {
			t.Errorf("%s: %v\n%s", shell, err, out)
		}
	}
}

func TestWatchPrintsAnewUntilItIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var out bytes.Buffer
	n := 0
	err := watch(ctx, &out, &out, time.Millisecond, func(page, notes io.Writer) error {
		if n++; n == 3 {
			cancel()
			return ctx.Err()
		}
		_, noteErr := io.WriteString(notes, "note\n")
		_, err := io.WriteString(page, "page\n")
		return errors.Join(err, noteErr)
	})
	if err != nil || out.String() != "page\nnote\n\npage\nnote\n" {
		t.Errorf("%v, %q", err, out.String())
	}
	if err := watch(t.Context(), &out, &out, time.Millisecond, func(_, _ io.Writer) error { return io.ErrUnexpectedEOF }); err != io.ErrUnexpectedEOF { //nolint:errorlint // it is not wrapped
		t.Errorf("got %v", err)
	}
}
