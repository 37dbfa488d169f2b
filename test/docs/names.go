package docs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Names are the names that the project has, and others may not be in its documentation.
type Names struct {
	Flags     []string // without the dashes
	Variables []string
	Targets   []string // of make
	Metrics   []string
}

// How names look: in the tables of docs/configure.md and docs/metrics.md, in the Makefile, and where a page uses them.
var (
	flagRow     = regexp.MustCompile("(?m)^\\| `--(\\[no-\\])?([a-z0-9.-]+)")
	variable    = regexp.MustCompile(`\bKUBEVOLTRACKER_[A-Z0-9_]+\b`)
	makeRule    = regexp.MustCompile(`(?m)^([a-z][a-z -]*):`)
	metricRow   = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (counter|gauge|histogram|untyped)")
	metricName  = regexp.MustCompile(`\bkubevoltracker_[a-z_]+`)
	mentioned   = regexp.MustCompile(`^--[a-z]`)
	nameOfFlag  = regexp.MustCompile(`^--(\[no-\])?([a-z0-9.-]*[a-z0-9])`)
	seriesParts = regexp.MustCompile(`_(bucket|sum|count|created)$`)
)

// NamesOf reads the names from docs/configure.md, docs/metrics.md and the Makefile. The tests of the programs hold that
// the first is complete, and one of test/e2e that the second is.
func NamesOf(configure, metrics, makefile string) (n Names) {
	for _, m := range flagRow.FindAllStringSubmatch(configure, -1) {
		n.Flags = append(n.Flags, m[2])
		if m[1] != "" {
			n.Flags = append(n.Flags, "no-"+m[2])
		}
	}
	n.Flags = append(n.Flags, "help", "version")
	n.Variables = variable.FindAllString(configure, -1)
	for _, m := range makeRule.FindAllStringSubmatch(makefile, -1) {
		n.Targets = append(n.Targets, strings.Fields(m[1])...)
	}
	for _, m := range metricRow.FindAllStringSubmatch(metrics, -1) {
		n.Metrics = append(n.Metrics, "kubevoltracker_"+m[1])
	}
	return n
}

// WrongNames returns which flags, variables, targets and metrics on the page do not exist. Flags count where a sentence
// names them; those in command lines are parsed by the programs' own tests. Others are flags and names of other programs.
func (p *Page) WrongNames(known Names, others []string) (findings []string) {
	for _, span := range p.Spans {
		if mentioned.MatchString(span.Text) && !p.knows(known, others, span.Text) {
			findings = append(findings, fmt.Sprintf("%v: no program of the project has this flag", span))
		}
	}
	for _, piece := range append(slices.Clone(p.Spans), p.Blocks...) {
		findings = append(findings, piece.wrongWords(known, others)...)
	}
	return append(findings, p.wrongTargets(known)...)
}

// wrongWords returns which variables and metrics in a piece of code do not exist.
func (p Piece) wrongWords(known Names, others []string) (findings []string) {
	for _, name := range variable.FindAllString(p.Text, -1) {
		if !slices.Contains(known.Variables, name) && !strings.HasSuffix(name, "_") {
			findings = append(findings, fmt.Sprintf("%s:%d: nothing reads %s", p.Page, p.Line, name))
		}
	}
	for _, name := range metricName.FindAllString(p.Text, -1) {
		family := seriesParts.ReplaceAllString(name, "")
		if !slices.Contains(known.Metrics, name) && !slices.Contains(known.Metrics, family) && !slices.Contains(others, name) {
			findings = append(findings, fmt.Sprintf("%s:%d: there is no metric %s", p.Page, p.Line, name))
		}
	}
	return findings
}

func (p *Page) wrongTargets(known Names) (findings []string) {
	commands, _ := p.Commands()
	for _, c := range Of(commands, "make") {
		for _, target := range c.Args[1:] {
			if !strings.Contains(target, "=") && !strings.HasPrefix(target, "-") && !slices.Contains(known.Targets, target) {
				findings = append(findings, fmt.Sprintf("%s:%d: make has no target %s", c.Page, c.Line, target))
			}
		}
	}
	return findings
}

// knows reports whether the flag exists that a text begins with: a text such as `--web.…` means all that begin so.
func (p *Page) knows(known Names, others []string, text string) bool {
	m := nameOfFlag.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	name := m[2]
	if rest := text[len(m[0]):]; rest == ".…" || rest == "." || rest == "-" || rest == "-…" {
		return slices.ContainsFunc(known.Flags, func(flag string) bool { return strings.HasPrefix(flag, name) })
	}
	return slices.Contains(known.Flags, name) || slices.Contains(others, "--"+name)
}
