package ingest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// column is a column of a table whose rows are T. It appends the values of a whole block to clickhouse-go at once.
type column[T any] struct {
	name    string
	add     func(to driver.BatchColumn, rows []T) error
	bytes   func(*T) int     // how long the text is; nil if the column has none
	version func(*T) *uint64 // nil unless the column is the row's version
	key     func(*T) string  // nil unless the column is part of the row's key
}

// plain is a column whose Go values clickhouse-go takes as they are: strings,
// numbers, booleans, lists and maps.
func plain[T, V any](name string, value func(*T) V) column[T] {
	return column[T]{name: name, bytes: textBytes[T](value), add: func(to driver.BatchColumn, rows []T) error {
		values := make([]V, len(rows))
		for i := range rows {
			values[i] = value(&rows[i])
		}
		return to.Append(values)
	}}
}

// textBytes returns a function that returns how many bytes the texts of a column's value have; nil if it is no text.
func textBytes[T any](value any) func(*T) int {
	switch value := value.(type) {
	case func(*T) string:
		return func(row *T) int { return len(value(row)) }
	case func(*T) []string:
		return func(row *T) (n int) {
			for _, text := range value(row) {
				n += len(text)
			}
			return n
		}
	case func(*T) map[string]string:
		return func(row *T) (n int) {
			for name, text := range value(row) {
				n += len(name) + len(text)
			}
			return n
		}
	}
	return nil
}

// key is a part of the row's key, after the cluster. Of the rows with the same key, the one with the highest
// version counts.
func key[T, V any](name string, value func(*T) V) column[T] {
	c := plain(name, value)
	c.key = func(row *T) string { return fmt.Sprint(value(row)) }
	return c
}

// keyMoment is a part of the row's key that is a time.
func keyMoment[T any](name string, value func(*T) fact.Time) column[T] {
	c := moment(name, value)
	c.key = func(row *T) string { return strconv.FormatInt(int64(value(row)), 10) }
	return c
}

// moment is a time that is never absent.
func moment[T any](name string, value func(*T) fact.Time) column[T] {
	return plain(name, func(row *T) time.Time { return time.UnixMicro(int64(value(row))).UTC() })
}

// nullable is a time that may be absent, which is NULL.
func nullable[T any](name string, value func(*T) fact.Time) column[T] {
	return plain(name, func(row *T) *time.Time {
		at := value(row)
		if at.IsZero() {
			return nil
		}
		t := at.Time()
		return &t
	})
}

// uncertainty is the distance in microseconds from the earliest moment to the latest. The earliest one is an ALIAS column of it:
// most rows are exact, and many zeros take no space.
func uncertainty[T any](name string, value func(*T) (at, notBefore fact.Time)) column[T] {
	return plain(name, func(row *T) int64 {
		at, notBefore := value(row)
		if at.IsZero() || notBefore.IsZero() {
			return 0
		}
		return int64(at - notBefore)
	})
}

// rowVersion is the version that the inventory gave the row.
func rowVersion[T any](value func(*T) *uint64) column[T] {
	c := plain("version", func(row *T) uint64 { return *value(row) })
	c.version = value
	return c
}

// table maps the rows of one list of fact.Facts to a table of the catalog.
type table struct {
	name    string
	columns []string
	count   func(*fact.Facts) int
	// fill appends all rows to a batch.
	fill func(batch driver.Batch, cluster string, facts *fact.Facts) error
	// cut moves the first n rows, or all if there are fewer, from src to dst, in which they replace all others. It copies
	// no row: dst and src then share memory, of which each has its own part.
	cut func(dst, src *fact.Facts, n int) int
	// fit returns how many of the first n rows begin within the given bytes of text, and how many bytes these rows have.
	fit func(facts *fact.Facts, n, bytes int) (rows, used int)
	// copy appends a copy of all rows of src to dst.
	copy func(dst, src *fact.Facts)
	// key names the columns by which rows replace each other. It, versions and keep are nil where rows have no version.
	key []string
	// versions calls do with each row's version.
	versions func(facts *fact.Facts, do func(*uint64))
	// keep removes the rows for which do returns false.
	keep func(facts *fact.Facts, do func(key string, version uint64) bool)
	// text is the first row in JSON.
	text func(*fact.Facts) string
}

// declare returns a table with these columns, after the cluster, which comes first in every table.
func declare[T any](name string, rows func(*fact.Facts) *[]T, columns ...column[T]) table {
	t := table{
		name:    name,
		columns: []string{"cluster"},
		count:   func(f *fact.Facts) int { return len(*rows(f)) },
		fill: func(batch driver.Batch, cluster string, f *fact.Facts) error {
			in := plain("cluster", func(*T) string { return cluster })
			if err := in.add(batch.Column(0), *rows(f)); err != nil {
				return err
			}
			for i, c := range columns {
				if err := c.add(batch.Column(i+1), *rows(f)); err != nil {
					return err
				}
			}
			return nil
		},
		cut: func(dst, src *fact.Facts, n int) int {
			from, to := rows(src), rows(dst)
			n = min(n, len(*from))
			*to = (*from)[:n:n]
			if *from = (*from)[n:]; len(*from) == 0 {
				*from = nil // its memory can be freed while other tables are at work
			}
			return n
		},
		copy: func(dst, src *fact.Facts) { *rows(dst) = append(*rows(dst), *rows(src)...) },
		text: func(f *fact.Facts) string {
			text, _ := json.Marshal((*rows(f))[0]) // strings, numbers, lists and maps: they have no errors
			return string(text)
		},
	}
	var texts []func(*T) int
	for _, c := range columns {
		t.columns = append(t.columns, c.name)
		if c.bytes != nil {
			texts = append(texts, c.bytes)
		}
	}
	t.fit = func(f *fact.Facts, n, bytes int) (fitting, used int) {
		all := *rows(f)
		for fitting < min(n, len(all)) && used < bytes {
			for _, text := range texts {
				used += text(&all[fitting])
			}
			fitting++
		}
		return fitting, used
	}
	declareKey(&t, rows, columns)
	return t
}

// declareKey fills in how rows replace each other, if they have a version.
func declareKey[T any](t *table, rows func(*fact.Facts) *[]T, columns []column[T]) {
	var version func(*T) *uint64
	var parts []func(*T) string
	for _, c := range columns {
		if c.version != nil {
			version = c.version
		}
		if c.key != nil {
			t.key, parts = append(t.key, c.name), append(parts, c.key)
		}
	}
	if version == nil {
		return
	}
	name := t.name
	t.versions = func(f *fact.Facts, do func(*uint64)) {
		all := *rows(f)
		for i := range all {
			do(version(&all[i]))
		}
	}
	t.keep = func(f *fact.Facts, do func(string, uint64) bool) {
		of := rows(f)
		*of = slices.DeleteFunc(*of, func(row T) bool {
			key := name
			for _, part := range parts {
				key += "\x00" + part(&row)
			}
			return !do(key, *version(&row))
		})
	}
}
