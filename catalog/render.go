package catalog

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"strings"
	"text/tabwriter"
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

func (t *Table) writeText(w io.Writer) error {
	if len(t.Columns) == 0 {
		return t.drain()
	}
	out := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	line := make([]string, 0, len(t.Columns))
	put := func(text func(int) string) error {
		line = line[:0]
		for i, c := range t.Columns {
			if !c.Hidden {
				line = append(line, text(i))
			}
		}
		_, err := io.WriteString(out, strings.Join(line, "\t")+"\n")
		return err
	}
	if err := put(func(i int) string { return printable(t.Columns[i].Title) }); err != nil {
		return err
	}
	sums := make([]float64, len(t.Columns))
	rows := 0
	for t.Next() {
		rows++
		for i, c := range t.Columns {
			if n, ok := number(t.row[i]); ok && c.Sum {
				sums[i] += n
			}
		}
		if err := put(func(i int) string { return humanText(t.row[i], t.Columns[i].Unit) }); err != nil {
			return err
		}
	}
	if err := t.writeTotal(put, sums, rows); err != nil {
		return err
	}
	return errors.Join(t.Err(), out.Flush())
}

// writeTotal adds the last line, if any column is to be summed up and there is
// more than one row to sum.
func (t *Table) writeTotal(put func(func(int) string) error, sums []float64, rows int) error {
	summed, first := false, -1
	for i, c := range t.Columns {
		summed = summed || c.Sum
		if first < 0 && !c.Hidden {
			first = i
		}
	}
	if !summed || rows < 2 {
		return nil
	}
	return put(func(i int) string {
		switch {
		case t.Columns[i].Sum:
			return humanText(int64(math.Round(sums[i])), t.Columns[i].Unit)
		case i == first:
			return "total"
		}
		return ""
	})
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

func number(v any) (float64, bool) {
	r := reflect.ValueOf(v)
	switch {
	case !r.IsValid():
		return 0, false
	case r.CanInt():
		return float64(r.Int()), true
	case r.CanUint():
		return float64(r.Uint()), true
	case r.CanFloat():
		return r.Float(), true
	}
	return 0, false
}

// jsonText is v in JSON; a number that JSON cannot write (NaN, Inf) is null.
func jsonText(v any) string {
	if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return "null"
	}
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(timesIn(v)); err != nil {
		return jsonText(fmt.Sprint(v))
	}
	return escapeC1(strings.TrimSuffix(out.String(), "\n"))
}
