package catalog

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Format is a way to write a Result.
type Format string

// The formats. TableFormat is for people: aligned, with sizes like 10 GiB and
// durations like 41d, and "-" for what is absent. JSONFormat is an array of
// objects, YAMLFormat a list of mappings, CSVFormat has a header line (RFC 4180);
// these stream, and have raw numbers and RFC 3339 times; NULL is null and the
// empty field. MarkdownFormat is the table for people, for a page or a ticket.
const (
	TableFormat    Format = "table"
	JSONFormat     Format = "json"
	CSVFormat      Format = "csv"
	YAMLFormat     Format = "yaml"
	MarkdownFormat Format = "markdown"
)

// Formats lists them, for a flag.
func Formats() []string {
	return []string{string(TableFormat), string(JSONFormat), string(CSVFormat), string(YAMLFormat), string(MarkdownFormat)}
}

// Write writes the rows of r that were not read yet to w and closes r.
func (r *Result) Write(w io.Writer, format Format) error { return r.WriteFor(w, w, format) }

// WriteFor writes as Write does, to a buffer w whose content the caller then writes to destination. CSV is escaped if destination is a
// terminal.
func (r *Result) WriteFor(destination, w io.Writer, format Format) error {
	defer r.Close()
	buffered := bufio.NewWriter(w)
	err := r.leaveDrawn(format)
	if err != nil {
		return err
	}
	switch format {
	case TableFormat:
		err = r.writeText(buffered)
	case JSONFormat:
		err = r.writeJSON(buffered)
	case CSVFormat:
		err = r.writeCSV(buffered, terminal(destination))
	case YAMLFormat:
		err = r.writeYAML(buffered)
	case MarkdownFormat:
		err = r.writeMarkdown(buffered)
	default:
		return fmt.Errorf("unknown format %q; use %s", format, strings.Join(Formats(), ", "))
	}
	return errors.Join(err, buffered.Flush())
}

// leaveDrawn leaves columns that are drawn for people out of the formats for programs.
func (r *Result) leaveDrawn(format Format) error {
	isDrawn := func(c ResultColumn) bool { return c.drawn }
	if format == TableFormat || format == MarkdownFormat || r.picked != nil || !slices.ContainsFunc(r.Columns, isDrawn) {
		return nil
	}
	var names []string
	for _, c := range r.Columns {
		if !c.drawn {
			names = append(names, c.Name)
		}
	}
	return r.Select(names)
}

// columnGap is how many blanks separate the columns of a table.
const columnGap = 3

// writeText aligns by itself: text/tabwriter takes each rune for one cell of the
// terminal, and aligns either all columns to the right or none.
func (r *Result) writeText(w io.Writer) error {
	if len(r.Columns) == 0 {
		return r.drain()
	}
	lines, shown, err := r.lines()
	if err != nil {
		return err
	}
	widths := make([]int, len(r.Columns))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], cellsOf(cell))
		}
	}
	for _, line := range lines {
		var out strings.Builder
		for i, cell := range line {
			if shown[i] {
				out.WriteString(r.Columns[i].align(cell, widths[i]) + strings.Repeat(" ", columnGap))
			}
		}
		if _, err := io.WriteString(w, strings.TrimRight(out.String(), " ")+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// cellsOf returns how many cells of the terminal a printable text takes. Of ASCII, which nearly all texts are, that
// is its length; package uniseg looks for grapheme clusters, which takes thirty times as long.
func cellsOf(text string) int {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return uniseg.StringWidth(text)
		}
	}
	return len(text)
}

// align pads a cell to a width: sizes, durations and sums on the left, text on the right.
func (c *ResultColumn) align(cell string, width int) string {
	blanks := strings.Repeat(" ", width-cellsOf(cell))
	if c.right() {
		return blanks + cell
	}
	return cell + blanks
}

// right reports whether the column is aligned to the right.
func (c *ResultColumn) right() bool { return c.Unit != NoUnit || c.Sum }

// lines are the titles, the rows and the total as text, and which of their
// columns are to be shown.
func (r *Result) lines() (lines [][]string, shown []bool, err error) {
	titles := make([]string, len(r.Columns))
	shown = make([]bool, len(r.Columns))
	for i, c := range r.Columns {
		titles[i], shown[i] = Printable(c.Title), !c.Hidden && !c.optional
	}
	lines = append(lines, titles)
	sums := make([]columnSum, len(r.Columns))
	for r.Next() {
		line := make([]string, len(r.Columns))
		for i, c := range r.Columns {
			line[i] = humanText(r.row[i], c.Unit)
			if c.optional && !shown[i] {
				text := plainText(r.row[i])
				shown[i] = text != "" && text != c.usual && !c.Hidden
			}
			if c.Sum {
				sums[i].add(r.row[i])
			}
		}
		lines = append(lines, line)
	}
	if total := r.total(sums, shown); total != nil && len(lines) > 2 && !r.cut {
		lines = append(lines, total)
	}
	return lines, shown, r.Err()
}

// total is the last line, if any column is to be summed up. The first shown column without a sum says what the line is; where there is
// none, the line would look like a row and is left out.
func (r *Result) total(sums []columnSum, shown []bool) []string {
	if !slices.ContainsFunc(r.Columns, func(c ResultColumn) bool { return c.Sum }) {
		return nil
	}
	line, named := make([]string, len(r.Columns)), false
	for i, c := range r.Columns {
		switch {
		case c.Sum && sums[i].some && !(c.whole && sums[i].missing):
			line[i] = humanText(&sums[i].numbers, c.Unit)
		case !c.Sum && shown[i] && !named:
			line[i], named = "total", true
		}
	}
	if !named {
		return nil
	}
	return line
}

// columnSum adds up the numbers of a column, of which it has some, or rows are missing.
type columnSum struct {
	numbers       big.Int
	some, missing bool
}

func (s *columnSum) add(value any) {
	n, ok := integer(value)
	if !ok {
		s.missing = true
		return
	}
	s.numbers.Add(&s.numbers, n)
	s.some = true
}

func (r *Result) writeJSON(w io.Writer) error {
	if len(r.Columns) == 0 {
		if err := r.drain(); err != nil {
			return err
		}
	}
	separator := "["
	for r.Next() {
		var line strings.Builder
		line.WriteString(separator + "\n  {")
		for i, c := range r.Columns {
			if i > 0 {
				line.WriteString(", ")
			}
			line.WriteString(jsonText(c.Name) + ": " + jsonText(r.row[i]))
		}
		line.WriteString("}")
		if _, err := io.WriteString(w, line.String()); err != nil {
			return err
		}
		separator = ","
	}
	if r.Err() != nil {
		return r.Err() // half an array is no JSON, and so not taken for the whole
	}
	end := "\n]\n"
	if separator == "[" {
		end = "[]\n"
	}
	_, err := io.WriteString(w, end)
	return err
}

func (r *Result) writeCSV(w io.Writer, escape bool) error {
	if len(r.Columns) == 0 {
		return r.drain()
	}
	out := csv.NewWriter(w)
	line := make([]string, len(r.Columns))
	for i, c := range r.Columns {
		line[i] = c.Name
	}
	for {
		if err := out.Write(line); err != nil {
			return err
		}
		if !r.Next() {
			break
		}
		for i, v := range r.row {
			line[i] = plainText(v)
			if escape {
				line[i] = Printable(line[i])
			}
		}
	}
	out.Flush()
	return errors.Join(r.Err(), out.Error())
}

// drain reads to the end, where an error may wait.
func (r *Result) drain() error {
	for r.Next() { // rows without columns have nothing to show
	}
	return r.Err()
}

// terminal reports whether w may interpret control characters.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// integer returns a whole number of any size.
func integer(v any) (*big.Int, bool) {
	if n, ok := v.(*big.Int); ok {
		return n, true
	}
	r := reflect.ValueOf(v)
	switch {
	case !r.IsValid():
		return nil, false
	case r.CanInt():
		return big.NewInt(r.Int()), true
	case r.CanUint():
		return new(big.Int).SetUint64(r.Uint()), true
	}
	return nil, false
}

func number(v any) (float64, bool) {
	if n, ok := integer(v); ok {
		f, _ := n.Float64()
		return f, true
	}
	r := reflect.ValueOf(v)
	switch {
	case !r.IsValid():
		return 0, false
	case r.CanFloat():
		return r.Float(), true
	}
	return 0, false
}
