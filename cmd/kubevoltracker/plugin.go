package main

import (
	"path/filepath"
	"strings"

	"github.com/alecthomas/kingpin/v2"
)

// pluginName is the file name by which kubectl runs the program for `kubectl voltracker`.
const pluginName = "kubectl-voltracker"

// program is how a user calls the program.
type program string

const (
	alone    program = "kubevoltracker"
	asPlugin program = "kubectl voltracker"
)

// spell returns what a user types for a command. As a plugin of kubectl the program answers reports:
// `kubectl voltracker idle` is `kubevoltracker report idle`.
func (p program) spell(command string) string {
	if p == asPlugin {
		command = strings.TrimPrefix(command, "report")
	}
	return strings.TrimSpace(string(p) + " " + strings.TrimSpace(command))
}

// usageTemplate returns kingpin's template of the help, with the name by which the program was called.
func usageTemplate() string {
	return strings.ReplaceAll(kingpin.DefaultUsageTemplate, "{{.App.Name}} {{.Context.SelectedCommand}}", "{{Spell .Context.SelectedCommand.FullCommand}}")
}

// arguments returns how the program was called, and its arguments, completed where the parser of the flags needs it.
func arguments(commandLine []string) (called program, args []string) {
	called, args = alone, spellWatch(commandLine[1:])
	if strings.TrimSuffix(filepath.Base(commandLine[0]), ".exe") == pluginName {
		called = asPlugin
		if len(args) == 0 || args[0] != "report" {
			args = append([]string{"report"}, args...)
		}
	}
	if len(args) == 1 && args[0] == "report" {
		args = append(args, listOfReports)
	}
	return called, args
}
