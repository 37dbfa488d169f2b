package docs

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// WrongLinks returns which of the page's relative links lead nowhere. The pages are all there are, and root is the
// directory of go.mod.
func (p *Page) WrongLinks(root string, pages []*Page) (findings []string) {
	for _, link := range p.Links {
		if strings.Contains(link.Text, "://") || strings.HasPrefix(link.Text, "mailto:") {
			continue
		}
		name, anchor, _ := strings.Cut(link.Text, "#")
		to := p.Name
		if name != "" {
			to = path.Join(path.Dir(p.Name), name)
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(to))); err != nil {
				findings = append(findings, fmt.Sprintf("%v: there is no %s", link, to))
				continue
			}
		}
		if anchor == "" {
			continue
		}
		i := slices.IndexFunc(pages, func(page *Page) bool { return page.Name == to })
		if i < 0 || !slices.Contains(pages[i].Anchors, anchor) {
			findings = append(findings, fmt.Sprintf("%v: %s has no heading for #%s", link, to, anchor))
		}
	}
	return findings
}
