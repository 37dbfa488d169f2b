package main

import (
	"flag"
	"testing"

	"github.com/alecthomas/kingpin/v2"

	"github.com/kubevoltracker/kubevoltracker/test/docs"
)

var update = flag.Bool("update", false, "write docs/configure.md anew")

var flagGroups = []docs.Group{
	{Title: "Where it serves, and what", Flags: []string{"data-dir", "listen-address", "library", "ping"}},
	{Title: "Who may write and read", Flags: []string{"writer-", "reader-password-file"},
		Text: "There are two users: `kubevoltracker`, who writes, and `default`, who reads ([security.md](security.md#whoever-reaches-the-embedded-clickhouse))."},
	{Title: "Limits", Flags: []string{"reader-timeout", "max-"}},
	{Title: "The process", Flags: []string{"stop-grace", "exit-on-stdin-close", "log."}, Text: "The log goes to standard error."},
}

func application() *kingpin.Application { return newApplication(&flags{}) }

// TestConfigurePageHasAllFlags compares docs/configure.md with the flags. -update writes it.
func TestConfigurePageHasAllFlags(t *testing.T) {
	docs.CheckReference(t, name, application(), *update, flagGroups...)
}

// TestCommandsInDocsParse parses each command line of the documentation.
func TestCommandsInDocsParse(t *testing.T) {
	if n := docs.CheckCommands(t, name, application); n < 2 {
		t.Errorf("only %d command lines are found", n)
	}
}
