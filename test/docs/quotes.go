package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Texts are the literal texts of the programs, a list for each file.
type Texts [][]string

// ReadTexts reads the Go files below directories, tests aside. A verb of fmt becomes "…".
func ReadTexts(directories ...string) (texts Texts, err error) {
	for _, directory := range directories {
		err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			of, err := textsOf(path)
			texts = append(texts, of)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return texts, nil
}

var verb = regexp.MustCompile(`%[-+#.0-9\[\]]*[a-zA-Z]`)

func textsOf(path string) (texts []string, err error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil {
				texts = append(texts, verb.ReplaceAllString(text, "…"))
			}
		}
		return true
	})
	return texts, nil
}

// quotedMessage is a message of the log: msg="…".
var quotedMessage = regexp.MustCompile(`msg="([^"]*)"`)

// HasMessage reports whether a program has a message of its log.
func (t Texts) HasMessage(message string) bool {
	for _, file := range t {
		for _, text := range file {
			if text == message {
				return true
			}
		}
	}
	return false
}

// HasQuote reports whether one literal text has all parts of a quote in their order; "…" stands between them.
func (t Texts) HasQuote(quote string) bool {
	for _, file := range t {
		for _, text := range file {
			if hasParts(text, strings.Split(quote, "…")) {
				return true
			}
		}
	}
	return false
}

func hasParts(text string, parts []string) bool {
	for _, part := range parts {
		i := strings.Index(text, strings.TrimSpace(part))
		if i < 0 {
			return false
		}
		text = text[i+len(strings.TrimSpace(part)):]
	}
	return true
}

// WrongQuotes returns which messages on the page no program has: each msg="…", and in a section named Troubleshooting
// all code in the first column of its tables that is no metric.
func (p *Page) WrongQuotes(texts Texts) (findings []string) {
	for _, span := range p.Spans {
		message := quotedMessage.FindStringSubmatch(span.Text)
		switch {
		case message != nil:
			if !texts.HasMessage(message[1]) {
				findings = append(findings, fmt.Sprintf("%v: no program logs this message", span))
			}
		case span.Section == "Troubleshooting" && span.FirstCell && !metricName.MatchString(span.Text):
			if !texts.HasQuote(span.Text) {
				findings = append(findings, fmt.Sprintf("%v: no program has this text", span))
			}
		}
	}
	return findings
}
