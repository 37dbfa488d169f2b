package docs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Kubectl checks command lines of kubectl by the help that kubectl prints, and by the resources of an API server.
type Kubectl struct {
	run       func(args ...string) (string, error)
	resources []string // their plurals, kinds and short names in small letters
	switches  []string // flags of every command that take no value
}

// NewKubectl asks kubectl, which run runs, for its flags and for the resources of the cluster.
func NewKubectl(run func(args ...string) (string, error)) (*Kubectl, error) {
	options, err := run("options")
	if err != nil {
		return nil, err
	}
	lines, err := run("api-resources", "--no-headers")
	if err != nil {
		return nil, err
	}
	k := &Kubectl{run: run, switches: switchesOf(options), resources: []string{"all"}}
	for line := range strings.Lines(lines) { // name, short names or nothing, version, namespaced, kind
		words := strings.Fields(line)
		if len(words) < 4 {
			continue
		}
		k.resources = append(k.resources, words[0], strings.ToLower(words[len(words)-1]))
		if len(words) == 5 {
			k.resources = append(k.resources, strings.Split(words[1], ",")...)
		}
	}
	return k, nil
}

var (
	switchOption = regexp.MustCompile(`(?m)^ +(?:(-\w), )?(--[a-z0-9-]+)=(?:true|false):`)
	usageLine    = regexp.MustCompile(`(?m)^Usage:\n +kubectl((?: [a-z][a-z-]*)+)(.*)$`)
	subcommands  = regexp.MustCompile(`(?m)^Available Commands:$`)
)

// missingValue is in kubectl's error about a flag without its value, which a sentence may leave out.
const missingValue = "flag needs an argument"

// switchesOf returns the flags in a help that take no value.
func switchesOf(help string) (flags []string) {
	for _, m := range switchOption.FindAllStringSubmatch(help, -1) {
		flags = append(flags, m[1], m[2])
	}
	return flags
}

// WrongKubectl returns a finding for each command line of kubectl on the page with a verb, flag or resource that does
// not exist, and how many command lines there are. kubectl carries out none of them, as each gets the flag --help.
func (p *Page) WrongKubectl(k *Kubectl) (findings []string, n int) {
	commands, _ := p.Commands()
	for _, c := range commands {
		if c.Args[0] != "kubectl" || len(c.Args) > 1 && slices.Contains(plugins, c.Args[1]) {
			continue
		}
		n++
		if finding := k.wrong(c); finding != "" {
			findings = append(findings, fmt.Sprintf("%s:%d: %s: %s", c.Page, c.Line, strings.Join(c.Args, " "), finding))
		}
	}
	return findings, n
}

// plugins are the commands of kubectl that the real one here does not have: the program itself as a plugin, and krew.
var plugins = []string{"voltracker", "krew"}

// wrong returns the mistake in a command line, or "". The flag --help comes first: a flag without its value at the end
// of the line would take it as that value.
func (k *Kubectl) wrong(c Command) string {
	args := c.Args[1:]
	if i := slices.Index(args, "--"); i >= 0 { // a command in a container
		args = args[:i]
	}
	args = slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "…" || arg == "..." })
	help, err := k.run(append([]string{"--help=true"}, args...)...)
	switch {
	case err != nil && c.Inline && strings.Contains(err.Error(), missingValue):
		return ""
	case err != nil && strings.Contains(err.Error(), "plugin name"):
		return "kubectl has no such command"
	case err != nil:
		return err.Error()
	}
	usage := usageLine.FindStringSubmatch(help)
	if usage == nil {
		return "kubectl prints no usage of it"
	}
	words := k.words(args, switchesOf(help))
	words = words[min(len(words), len(strings.Fields(usage[1]))):]
	if len(words) > 0 && subcommands.MatchString(help) {
		return fmt.Sprintf("kubectl%s has no command %s", usage[1], words[0])
	}
	return k.wrongResource(usage[2], words)
}

// words returns the arguments that are neither flags nor values of flags.
func (k *Kubectl) words(args, switches []string) (words []string) {
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case !strings.HasPrefix(arg, "-"):
			words = append(words, arg)
		case strings.Contains(arg, "=") || slices.Contains(switches, arg) || slices.Contains(k.switches, arg):
		default:
			i++ // the flag's value
		}
	}
	return words
}

// wrongResource returns a finding if the first word names a resource that does not exist. The usage says whether that
// word is a type (TYPE NAME), or may be a pod's name: (POD | TYPE/NAME) of exec, TYPE/NAME of port-forward.
func (k *Kubectl) wrongResource(usage string, words []string) string {
	if len(words) == 0 || !takesType.MatchString(usage) {
		return ""
	}
	types, _, named := strings.Cut(words[0], "/")
	if !named && takesPod.MatchString(usage) {
		return ""
	}
	for kind := range strings.SplitSeq(types, ",") {
		name, _, _ := strings.Cut(kind, ".") // the group
		if !slices.Contains(k.resources, strings.ToLower(name)) {
			return "there is no resource " + kind
		}
	}
	return ""
}

var (
	takesType = regexp.MustCompile(`^[^V]*(\bTYPE\b|\bRESOURCE\b|\bresource\.group\b)`) // not VERB TYPE, of auth can-i
	takesPod  = regexp.MustCompile(`\(POD \||^ TYPE/NAME`)
)
