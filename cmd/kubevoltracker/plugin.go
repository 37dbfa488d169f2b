package main

import (
	"path/filepath"
	"strings"
)

// pluginName is the file name by which kubectl runs the program for `kubectl voltracker`.
const pluginName = "kubectl-voltracker"

// arguments returns the arguments of a command line. As a plugin of kubectl the program answers reports:
// `kubectl voltracker idle` is `kubevoltracker report idle`.
func arguments(commandLine []string) []string {
	args := spellWatch(commandLine[1:])
	if strings.TrimSuffix(filepath.Base(commandLine[0]), ".exe") == pluginName {
		return append([]string{"report"}, args...)
	}
	return args
}
