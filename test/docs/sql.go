package docs

import "strings"

// Statements returns the statements in the page's blocks of SQL, in order.
func (p *Page) Statements() (statements []Piece) {
	for _, block := range p.Blocks {
		if block.Lang != "sql" {
			continue
		}
		for text := range strings.SplitSeq(block.Text, ";\n") {
			if text = strings.TrimSuffix(strings.TrimSpace(text), ";"); text != "" {
				statement := block
				statement.Text = text
				statements = append(statements, statement)
			}
		}
	}
	return statements
}
