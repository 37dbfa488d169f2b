package catalog

import (
	"io"
	"strings"
)

// markdownText escapes what Markdown would take for its own in a cell: names and paths come from whoever may create
// a pod.
var markdownText = strings.NewReplacer(`\`, `\\`, "|", `\|`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`,
	"<", `\<`, ">", `\>`, "~", `\~`, "&", `\&`, "!", `\!`, "#", `\#`, "$", `\$`)

// writeMarkdown writes the table for people as one of Markdown.
func (r *Result) writeMarkdown(w io.Writer) error {
	if len(r.Columns) == 0 {
		return r.drain()
	}
	lines, shown, err := r.lines()
	if err != nil {
		return err
	}
	for n, line := range lines {
		var out, rule strings.Builder
		for i, cell := range line {
			if !shown[i] {
				continue
			}
			out.WriteString("| " + markdownText.Replace(cell) + " ")
			if r.Columns[i].right() {
				rule.WriteString("|---:")
			} else {
				rule.WriteString("|---")
			}
		}
		out.WriteString("|\n")
		if n == 0 {
			out.WriteString(rule.String() + "|\n")
		}
		if _, err := io.WriteString(w, out.String()); err != nil {
			return err
		}
	}
	return nil
}
