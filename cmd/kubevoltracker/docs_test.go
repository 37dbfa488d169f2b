package main

import (
	"flag"
	"io"
	"strings"
	"testing"

	"github.com/alecthomas/kingpin/v2"

	"github.com/kubevoltracker/kubevoltracker/cmd/namedflag"
	"github.com/kubevoltracker/kubevoltracker/test/docs"
)

var update = flag.Bool("update", false, "write docs/configure.md anew")

// flagGroups are the headings of the flags of run.
var flagGroups = []docs.Group{
	{Title: "The API server", Flags: []string{"kube.", "cluster.name"},
		Text: "Which cluster the tracker watches, as whom, and how the catalog names it."},
	{Title: "What is watched and kept", Flags: []string{"collector."},
		Text: "Which kinds the tracker watches, and what it keeps of their objects. [security.md](security.md#what-is-kept-of-the-cluster) has the list."},
	{Title: "Kubelets", Flags: []string{"kubelet."},
		Text: "How the tracker asks kubelets how full volumes are: [metrics.md](metrics.md#how-full-volumes-are)."},
	{Title: "The data directory and the journal", Flags: []string{"data-dir", "journal."},
		Text: "Where the tracker keeps its state, and how much may wait there for ClickHouse: [operate.md](operate.md#the-journal)."},
	{Title: "The catalog", Flags: []string{"catalog."},
		Text: "Where the history is kept. The password of ClickHouse's user has no flag, as everybody on the machine sees flags: set `KUBEVOLTRACKER_CATALOG_PASSWORD`, or name a file. " +
			"Flags whose names begin with `--catalog.embedded-`, and `--catalog.reader-password-file`, concern the ClickHouse that the tracker starts itself."},
	{Title: "Leader election", Flags: []string{"leader-election", "leader-election."},
		Text: "Several trackers of one cluster share one catalog, and one of them writes: [operate.md](operate.md#two-trackers-and-failover)."},
	{Title: "Metrics", Flags: []string{"metrics."},
		Text: "Which volumes have metrics of their own, and with which labels: [metrics.md](metrics.md)."},
	{Title: "The HTTP server", Flags: []string{"web."},
		Text: "Where the metrics, `/livez`, `/readyz` and the landing page are served, and to whom."},
	{Title: "The log", Flags: []string{"log."}, Text: "The log goes to standard error."},
}

func application() *kingpin.Application {
	a, _ := newApplication(alone, io.Discard, io.Discard)
	return a
}

// TestConfigurePageHasAllFlags compares docs/configure.md with the flags. -update writes it.
func TestConfigurePageHasAllFlags(t *testing.T) {
	docs.CheckReference(t, "kubevoltracker", application(), *update, flagGroups...)
}

// TestHelpNamesAllWords checks that the help of a flag that accepts one of several words has all of them.
func TestHelpNamesAllWords(t *testing.T) {
	n := 0
	var check func(commands []*kingpin.CmdModel)
	check = func(commands []*kingpin.CmdModel) {
		for _, command := range commands {
			check(command.Commands)
			for _, f := range command.Flags {
				c, ok := f.Value.(*namedflag.Value).Value.(*choice)
				if !ok {
					continue
				}
				n++
				for _, word := range c.options {
					if !strings.Contains(f.Help, word) {
						t.Errorf("%s: --%s: the help lacks %s: %s", command.FullCommand, f.Name, word, f.Help)
					}
				}
			}
		}
	}
	check(application().Model().Commands)
	if n < 5 {
		t.Errorf("only %d flags accept words", n)
	}
}

// TestCommandsInDocsParse parses each command line of the documentation.
func TestCommandsInDocsParse(t *testing.T) {
	if n := docs.CheckCommands(t, "kubevoltracker", application); n < 25 {
		t.Errorf("only %d command lines are found", n)
	}
}

// TestWrongCommandsAreFound checks that TestCommandsInDocsParse looks at all of a command line.
func TestWrongCommandsAreFound(t *testing.T) {
	for page, wrong := range map[string]int{
		"```sh\nkubevoltracker run --catalog.url=none\n```":                                             0,
		"```sh\nkubevoltracker run --catalog.uri=none\n```":                                             1,
		"```sh\nfor i in 1 2; do X=1 .cache/bin/kubevoltracker report all | head; done\n```":            1,
		"```sh\nkubectl exec pod -- kubevoltracker sql\n```":                                            1, // without a query
		"```sh\nkubevoltracker run --journal.max-bytes=many\n```":                                       1,
		"```sh\nkubevoltracker report space \\\n  --by=pod\n```":                                        1,
		"```\n$ kubevoltracker report idle\nVOLUME\n$ kubevoltracker report busy\n```":                  1,
		"Ask by `kubevoltracker sql`, `kubevoltracker schema print|migrate` or `kubevoltracker run …`.": 0,
		"Ask by `kubevoltracker sql --wrote` or `kubevoltracker schema drop`.":                          2,
		"```sh\nkubevoltracker run 'without an end\n```":                                                1,
	} {
		findings, _ := docs.Parse("page.md", []byte(page)).WrongCommands("kubevoltracker", application)
		if len(findings) != wrong {
			t.Errorf("%d findings instead of %d in %s: %v", len(findings), wrong, page, findings)
		}
	}
}
