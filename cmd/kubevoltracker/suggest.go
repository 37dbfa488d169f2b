package main

import (
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/kubevoltracker/kubevoltracker/catalog"
)

// suggestion returns the known command or flag that is nearest to an unknown one; empty if all are known, or none is near.
func suggestion(application *kingpin.Application, args []string) string {
	model := application.Model()
	commands, flags := model.Commands, model.Flags
	for _, arg := range args {
		if arg == "--" {
			break
		}
		if name, isFlag := strings.CutPrefix(arg, "--"); isFlag {
			name, _, _ = strings.Cut(name, "=")
			if meant := nearest(name, flagNames(flags)); meant != "" {
				return "; did you mean --" + meant + "?"
			}
			continue
		}
		if len(commands) == 0 || strings.HasPrefix(arg, "-") {
			continue
		}
		i := slices.IndexFunc(commands, func(c *kingpin.CmdModel) bool { return c.Name == arg })
		if i < 0 {
			if meant := nearest(arg, commandNames(commands)); meant != "" {
				return "; did you mean " + meant + "?"
			}
			return ""
		}
		flags = append(slices.Clone(flags), commands[i].Flags...)
		commands = commands[i].Commands
	}
	return ""
}

// selected returns the command that the arguments name, as far as they name one.
func selected(application *kingpin.Application, args []string) string {
	if context, _ := application.ParseContext(args); context != nil && context.SelectedCommand != nil {
		return context.SelectedCommand.FullCommand()
	}
	return ""
}

// nearest returns the known name that is nearest to an unknown one; empty if the name is known, or none is near.
func nearest(name string, names []string) string {
	if slices.Contains(names, name) {
		return ""
	}
	meant, _ := catalog.Nearest(name, names)
	return meant
}

func commandNames(commands []*kingpin.CmdModel) (names []string) {
	for _, c := range commands {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	return names
}

// flagNames returns the long names of flags, and those that switch a flag off.
func flagNames(flags []*kingpin.FlagModel) (names []string) {
	for _, f := range flags {
		if f.Hidden {
			continue
		}
		names = append(names, f.Name)
		if f.IsBoolFlag() {
			names = append(names, "no-"+f.Name)
		}
	}
	return names
}
