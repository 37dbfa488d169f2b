package docs

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kingpin/v2"
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// Command is a command line on a page.
type Command struct {
	Piece
	Args   []string // the first one is the program, without its directory
	Inline bool     // it is in a sentence, and may leave out what is required
}

// Commands returns the command lines of a page: of its blocks of shell, of lines that begin with "$ " in its blocks
// without a language, and of its inline code. Findings are blocks that no shell can read.
func (p *Page) Commands() (commands []Command, findings []string) {
	read := func(piece Piece, inline bool) {
		found, err := parseShell(piece.Text)
		if err != nil && !inline {
			findings = append(findings, piece.String()+": "+err.Error())
		}
		for _, args := range found {
			commands = append(commands, Command{piece, args, inline})
		}
	}
	for _, block := range p.Blocks {
		switch block.Lang {
		case "sh", "bash", "shell":
			read(block, false)
		case "":
			for line := range strings.Lines(block.Text) {
				if text, ok := strings.CutPrefix(line, "$ "); ok {
					read(Piece{Page: block.Page, Line: block.Line, Text: text}, false)
				}
			}
		}
	}
	for _, span := range p.Spans {
		if strings.Contains(span.Text, " ") {
			read(span, true)
		}
	}
	return commands, findings
}

// Of returns the commands that run a program, also as the argument of another one: `kubectl exec … -- PROGRAM …`.
// An argument … stands for others, and is left out.
func Of(commands []Command, program string) (of []Command) {
	for _, c := range commands {
		if i := slices.Index(c.Args, "--"); i >= 0 && i+1 < len(c.Args) && c.Args[0] != program {
			c.Args = c.Args[i+1:]
			c.Args = append([]string{path.Base(c.Args[0])}, c.Args[1:]...)
		}
		if c.Args[0] == program {
			c.Args = slices.DeleteFunc(slices.Clone(c.Args), func(arg string) bool { return arg == "…" || arg == "..." })
			of = append(of, c)
		}
	}
	return of
}

// parseShell returns the words of all simple commands in a text, variables and inner commands replaced by a word.
func parseShell(text string) (commands [][]string, err error) {
	file, err := syntax.NewParser().Parse(strings.NewReader(text), "")
	if err != nil {
		return nil, err
	}
	config := &expand.Config{
		Env:       expand.FuncEnviron(func(string) string { return "1" }),
		CmdSubst:  func(w io.Writer, _ *syntax.CmdSubst) error { _, err := io.WriteString(w, "1"); return err },
		ProcSubst: func(*syntax.ProcSubst) (string, error) { return "1", nil },
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		words, failed := expand.Fields(config, call.Args...)
		if failed != nil {
			err = failed
		} else if len(words) > 0 {
			words[0] = path.Base(words[0])
			commands = append(commands, words)
		}
		return true
	})
	return commands, err
}

// CheckCommands checks the command lines of a program on all pages, and returns how many there are.
func CheckCommands(t *testing.T, program string, application func() *kingpin.Application) (n int) {
	t.Helper()
	for _, p := range Pages(t) {
		findings, found := p.WrongCommands(program, application)
		n += found
		for _, finding := range findings {
			t.Error(finding)
		}
	}
	return n
}

// WrongCommands returns which command lines of a program on the page its flags do not allow, and how many command
// lines of the program there are.
func (p *Page) WrongCommands(program string, application func() *kingpin.Application) (findings []string, n int) {
	commands, findings := p.Commands()
	of := Of(commands, program)
	for _, c := range of {
		a := application().Terminate(nil) // of --help and --version
		a.UsageWriter(io.Discard)
		_, err := a.ParseContext(c.Args[1:])
		if err == nil && !c.Inline {
			_, err = a.Parse(c.Args[1:])
		}
		if err != nil {
			findings = append(findings, fmt.Sprintf("%s:%d: %s: %v", c.Page, c.Line, strings.Join(c.Args, " "), err))
		}
	}
	return findings, len(of)
}
