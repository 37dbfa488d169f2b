package docs

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Files are the names of the project's files and directories, relative to the directory of go.mod, with slashes.
type Files map[string]bool

// ReadFiles reads the names below the directory of go.mod.
func ReadFiles(root string) (Files, error) {
	files := Files{}
	err := walk(root, func(_, name string) error {
		for ; name != "."; name = path.Dir(name) {
			files[name] = true
		}
		return nil
	})
	return files, err
}

var (
	// plainPath is a path without wildcards and variables of a shell.
	plainPath = regexp.MustCompile(`^[\w.…-]+(/[\w.…-]+)*$`)
	// placeholder stands for any part of a name.
	placeholder = regexp.MustCompile(`…|\bNAME\b`)
)

// WrongPaths returns which paths of the project in the page's code do not exist. A word is such a path if
//   - its first part is a directory at the top of the project, or beside the page: `catalog/embedded`, `./cmd/...`;
//   - or it ends in .go: one file's path must be that, or end in it.
//
// A file name alone, such as `values.yaml`, is not checked: many pages name files that the user or a program makes.
func (p *Page) WrongPaths(files Files) (findings []string) {
	for _, piece := range append(slices.Clone(p.Spans), p.Blocks...) {
		for _, word := range strings.FieldsFunc(piece.Text, isBetweenPaths) {
			word = strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(word, "./"), "/..."), "/")
			if plainPath.MatchString(word) && p.isPath(files, word) && !p.hasPath(files, word) {
				findings = append(findings, fmt.Sprintf("%s:%d: the project has no %s", p.Name, piece.Line, word))
			}
		}
	}
	return findings
}

// isBetweenPaths reports whether a letter separates words: `--file=go.mod`, `a/b, c/d`.
func isBetweenPaths(r rune) bool { return strings.ContainsRune(" \t\n,;='\"()`", r) }

// isPath reports whether a word means a path of the project.
func (p *Page) isPath(files Files, word string) bool {
	first, _, hasSlash := strings.Cut(word, "/")
	return strings.HasSuffix(word, ".go") || hasSlash && (files[first] || files[path.Join(path.Dir(p.Name), first)])
}

func (p *Page) hasPath(files Files, word string) bool {
	if files[word] || files[path.Join(path.Dir(p.Name), word)] {
		return true
	}
	pattern := placeholder.ReplaceAllString(word, "*")
	for name := range files {
		if pattern != word {
			if ok, _ := path.Match(pattern, name); ok {
				return true
			}
		}
		if strings.HasSuffix(word, ".go") && strings.HasSuffix(name, "/"+word) {
			return true
		}
	}
	return false
}
