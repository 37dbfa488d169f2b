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

	"github.com/rivo/uniseg"
)

// Format is a way to write a Table.
type Format string

// The formats. TableFormat is for people: aligned, with sizes like 10 GiB and
// durations like 41d, and "-" for what is absent. JSONFormat is an array of
// objects, CSVFormat has a header line (RFC 4180); both stream, and hold raw
// numbers and RFC 3339 times; NULL is null and the empty field.
const (
	TableFormat Format = "table"
	JSONFormat  Format = "json"
	CSVFormat   Format = "csv"
)

// Formats lists them, for a flag.
func Formats() []string { return []string{string(TableFormat), string(JSONFormat), string(CSVFormat)} }

// Write writes the rows of t that were not read yet to w and closes t.
func (t *Table) Write(w io.Writer, format Format) error {
	defer t.Close()
	buffered := bufio.NewWriter(w)
	var err error
	switch format {
	case TableFormat:
		err = t.writeText(buffered)
	case JSONFormat:
		err = t.writeJSON(buffered)
	case CSVFormat:
		err = t.writeCSV(buffered, terminal(w))
	default:
		return fmt.Errorf("unknown format %q; use %s", format, strings.Join(Formats(), ", "))
	}
	return errors.Join(err, buffered.Flush())
}

// columnGap is how many blanks separate the columns of a table.
const columnGap = 3

// writeText aligns by itself: text/tabwriter takes each rune for one cell of the
// terminal, and aligns either all columns to the right or none.
func (t *Table) writeText(w io.Writer) error {
	if len(t.Columns) == 0 {
		return t.drain()
	}
	lines, shown, err := t.lines()
	if err != nil {
		return err
	}
	widths := make([]int, len(t.Columns))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], uniseg.StringWidth(cell))
		}
	}
	for _, line := range lines {
		var out strings.Builder
		for i, cell := range line {
			if shown[i] {
				out.WriteString(t.Columns[i].align(cell, widths[i]) + strings.Repeat(" ", columnGap))
			}
		}
		if _, err := io.WriteString(w, strings.TrimRight(out.String(), " ")+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// align pads a cell to a width: sizes, durations and sums on the left, text on the right.
func (c *Column) align(cell string, width int) string {
	blanks := strings.Repeat(" ", width-uniseg.StringWidth(cell))
	if c.Unit != NoUnit || c.Sum {
		return blanks + cell
	}
	return cell + blanks
}

// lines are the titles, the rows and the total as text, and which of their
// columns are to be shown.
func (t *Table) lines() (lines [][]string, shown []bool, err error) {
	titles := make([]string, len(t.Columns))
	shown = make([]bool, len(t.Columns))
	for i, c := range t.Columns {
		titles[i], shown[i] = printable(c.Title), !c.Hidden && !c.optional
	}
	lines = append(lines, titles)
	sums := make([]big.Int, len(t.Columns))
	for t.Next() {
		line := make([]string, len(t.Columns))
		for i, c := range t.Columns {
			line[i] = humanText(t.row[i], c.Unit)
			if text := plainText(t.row[i]); c.optional && text != "" && text != c.usual {
				shown[i] = !c.Hidden
			}
			if n, ok := integer(t.row[i]); ok && c.Sum {
				sums[i].Add(&sums[i], n)
			}
		}
		lines = append(lines, line)
	}
	if total := t.total(sums, shown); total != nil && len(lines) > 2 {
		lines = append(lines, total)
	}
	return lines, shown, t.Err()
}

// total is the last line, if any column is to be summed up.
func (t *Table) total(sums []big.Int, shown []bool) []string {
	if !slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Sum }) {
		return nil
	}
	line := make([]string, len(t.Columns))
	line[max(0, slices.Index(shown, true))] = "total"
	for i, c := range t.Columns {
		if c.Sum {
			line[i] = humanText(&sums[i], c.Unit)
		}
	}
	return line
}

func (t *Table) writeJSON(w io.Writer) error {
	if len(t.Columns) == 0 {
		if err := t.drain(); err != nil {
			return err
		}
	}
	separator := "["
	for t.Next() {
		var line strings.Builder
		line.WriteString(separator + "\n  {")
		for i, c := range t.Columns {
			if i > 0 {
				line.WriteString(", ")
			}
			line.WriteString(jsonText(c.Name) + ": " + jsonText(t.row[i]))
		}
		line.WriteString("}")
		if _, err := io.WriteString(w, line.String()); err != nil {
			return err
		}
		separator = ","
	}
	if t.Err() != nil {
		return t.Err() // half an array is no JSON, and so not taken for the whole
	}
	end := "\n]\n"
	if separator == "[" {
		end = "[]\n"
	}
	_, err := io.WriteString(w, end)
	return err
}

func (t *Table) writeCSV(w io.Writer, escape bool) error {
	if len(t.Columns) == 0 {
		return t.drain()
	}
	out := csv.NewWriter(w)
	line := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		line[i] = c.Name
	}
	for {
		if err := out.Write(line); err != nil {
			return err
		}
		if !t.Next() {
			break
		}
		for i, v := range t.row {
			line[i] = plainText(v)
			if escape {
				line[i] = printable(line[i])
			}
		}
	}
	out.Flush()
	return errors.Join(t.Err(), out.Error())
}

// drain reads to the end, where an error may wait.
func (t *Table) drain() error {
	for t.Next() { // rows without columns have nothing to show
	}
	return t.Err()
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
