package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// Page is a page of the documentation, as far as the checks look at it.
type Page struct {
	Name    string // relative to the directory of go.mod, with slashes
	Anchors []string
	Links   []Piece // destinations
	Spans   []Piece // inline code
	Blocks  []Piece // blocks of code
	Tables  []Table
}

// Piece is a part of a page.
type Piece struct {
	Page, Text string
	Line       int
	Lang       string // of a block
	Section    string // the text of the heading of level 2 above
	FirstCell  bool   // of a span: it is in the first column of a table
}

func (p Piece) String() string { return fmt.Sprintf("%s:%d: %s", p.Page, p.Line, p.Text) }

// Pages returns all pages of the project. Those of nested modules are among them, those that were downloaded are not.
func Pages(t testing.TB) []*Page {
	t.Helper()
	root := harness.File(t, ".")
	var pages []*Page
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules" || entry.Name() == "testdata") && path != root:
			return filepath.SkipDir
		case filepath.Ext(path) != ".md":
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		pages = append(pages, Parse(filepath.ToSlash(name), source))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// Find returns a page by its name.
func Find(t testing.TB, name string) *Page {
	t.Helper()
	for _, p := range Pages(t) {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("there is no page %s", name)
	return nil
}

// Script returns the block that begins with a comment.
func (p *Page) Script(t testing.TB, comment string) string {
	t.Helper()
	for _, block := range p.Blocks {
		if strings.HasPrefix(block.Text, "# "+comment) {
			return block.Text
		}
	}
	t.Fatalf("%s has no commands for %q", p.Name, comment)
	return ""
}

// Parse reads a page.
func Parse(name string, source []byte) *Page {
	p := &reading{page: &Page{Name: name}, source: source}
	root := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(source))
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the walker returns no error
		if entering {
			p.take(n)
		}
		return ast.WalkContinue, nil
	})
	return p.page
}

type reading struct {
	page    *Page
	source  []byte
	section string
	heading string
	line    int
}

func (p *reading) take(n ast.Node) {
	if n.Type() == ast.TypeBlock && n.Lines().Len() > 0 {
		p.line = p.lineOf(n.Lines().At(0).Start)
	}
	switch n := n.(type) {
	case *ast.Heading:
		title := p.text(n)
		if n.Level == 2 {
			p.section = title
		}
		if n.Level <= 3 {
			p.heading = title
		}
		p.page.Anchors = append(p.page.Anchors, p.anchor(title))
	case *ast.Link:
		p.page.Links = append(p.page.Links, p.piece(string(n.Destination)))
	case *ast.Image:
		p.page.Links = append(p.page.Links, p.piece(string(n.Destination)))
	case *ast.CodeSpan:
		if t, ok := n.FirstChild().(*ast.Text); ok {
			p.line = p.lineOf(t.Segment.Start)
		}
		span := p.piece(strings.ReplaceAll(p.text(n), "\n", " "))
		span.FirstCell = inFirstCell(n)
		p.page.Spans = append(p.page.Spans, span)
	case *ast.FencedCodeBlock:
		block := p.piece(p.lines(n))
		block.Lang = string(n.Language(p.source))
		p.page.Blocks = append(p.page.Blocks, block)
	case *ast.CodeBlock:
		p.page.Blocks = append(p.page.Blocks, p.piece(p.lines(n)))
	case *extast.Table:
		p.page.Tables = append(p.page.Tables, p.table(n))
	}
}

// lineOf returns the line of a position in the source.
func (p *reading) lineOf(position int) int {
	return 1 + strings.Count(string(p.source[:position]), "\n")
}

func (p *reading) piece(text string) Piece {
	return Piece{Page: p.page.Name, Text: text, Line: p.line, Section: p.section}
}

// text returns the text of a node without its marks.
func (p *reading) text(n ast.Node) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(p.source))
			if t.SoftLineBreak() {
				b.WriteByte(' ')
			}
			continue
		}
		b.WriteString(p.text(c))
	}
	return b.String()
}

func (p *reading) lines(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		segment := n.Lines().At(i)
		b.Write(segment.Value(p.source))
	}
	return b.String()
}

// anchor returns the anchor that GitHub gives a heading.
func (p *reading) anchor(title string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(title) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r > 0x7f && !strings.ContainsRune("…—–“”‘’→", r):
			b.WriteRune(r)
		}
	}
	name := b.String()
	for i := 1; slices.Contains(p.page.Anchors, name); i++ {
		name = fmt.Sprint(b.String(), "-", i)
	}
	return name
}

func inFirstCell(n ast.Node) bool {
	for ; n != nil; n = n.Parent() {
		if cell, ok := n.(*extast.TableCell); ok {
			return cell.PreviousSibling() == nil
		}
	}
	return false
}
