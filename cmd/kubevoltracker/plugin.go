package main

import (
	"path/filepath"
	"strings"
)

// pluginName is the file name by which kubectl runs the program for `kubectl voltracker`.
const pluginName = "kubectl-voltracker"

// arguments returns the arguments of a command line, completed where the parser of the flags needs it. As a plugin of kubectl
// the program answers reports: `kubectl voltracker idle` is `kubevoltracker report idle`.
func arguments(commandLine []string) []string {
	args := spellWatch(commandLine[1:])
	if strings.TrimSuffix(filepath.Base(commandLine[0]), ".exe") == pluginName {
		args = append([]string{"report"}, args...)
	}
	if len(args) == 1 && args[0] == "report" {
		args = append(args, listOfReports)
	}
	return args
}
