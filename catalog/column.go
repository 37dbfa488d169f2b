package catalog

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// column is a column of a table whose rows are T: its name, and how its values
// of a whole block are handed to clickhouse-go at once.
type column[T any] struct {
	name    string
	add     func(to driver.BatchColumn, rows []T) error
	version func(*T) *uint64 // where it is the row's version
	key     func(*T) string  // where it is part of the row's key
}

// plain is a column whose Go values clickhouse-go takes as they are: strings,
// numbers, booleans, lists and maps.
func plain[T, V any](name string, value func(*T) V) column[T] {
	return column[T]{name: name, add: func(to driver.BatchColumn, rows []T) error {
		values := make([]V, len(rows))
		for i := range rows {
			values[i] = value(&rows[i])
		}
		return to.Append(values)
	}}
}

// key is a part of a row's key, behind the cluster: the row with the highest version of those that
// have the same key is the present one.
func key[T, V any](name string, value func(*T) V) column[T] {
	c := plain(name, value)
	c.key = func(row *T) string { return fmt.Sprint(value(row)) }
	return c
}

// moment is a time that is always there.
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

// rowVersion is the version that the inventory gave a row: of those with one key, the
// highest counts.
func rowVersion[T any](value func(*T) *uint64) column[T] {
	c := plain("version", func(row *T) uint64 { return *value(row) })
	c.version = value
	return c
}

// table is a table of the catalog and where its rows are in the facts.
type table struct {
	name    string
	columns []string
	count   func(*fact.Facts) int
	fill    func(batch driver.Batch, cluster string, facts *fact.Facts) error
	// move moves the first n rows, or all if there are fewer, from src to the end of
	// dst, without touching the memory of src.
	move func(dst, src *fact.Facts, n int) int
	// key are the columns by which rows replace each other; versions calls do with each row's version.
	// Both are nil where the rows have no version.
	key      []string
	versions func(facts *fact.Facts, do func(*uint64))
	// keep removes the rows of which do returns false.
	keep func(facts *fact.Facts, do func(key string, version uint64) bool)
	// text is the first row in JSON.
	text func(*fact.Facts) string
}

// declare makes a table. Its first column is always the cluster.
func declare[T any](name string, rows func(*fact.Facts) *[]T, columns ...column[T]) table {
	names := make([]string, 0, len(columns)+1)
	names = append(names, "cluster")
	var version func(*T) *uint64
	var key []string
	var keyParts []func(*T) string
	for _, c := range columns {
		names = append(names, c.name)
		if c.version != nil {
			version = c.version
		}
		if c.key != nil {
			key, keyParts = append(key, c.name), append(keyParts, c.key)
		}
	}
	var versions func(*fact.Facts, func(*uint64))
	var keep func(*fact.Facts, func(string, uint64) bool)
	if version != nil {
		versions = func(f *fact.Facts, do func(*uint64)) {
			all := *rows(f)
			for i := range all {
				do(version(&all[i]))
			}
		}
		keep = func(f *fact.Facts, do func(string, uint64) bool) {
			of := rows(f)
			*of = slices.DeleteFunc(*of, func(row T) bool {
				id := name
				for _, part := range keyParts {
					id += "\x00" + part(&row)
				}
				return !do(id, *version(&row))
			})
		}
	}
	return table{
		name:     name,
		columns:  names,
		key:      key,
		versions: versions,
		keep:     keep,
		count:    func(f *fact.Facts) int { return len(*rows(f)) },
		move: func(dst, src *fact.Facts, n int) int {
			from, to := rows(src), rows(dst)
			n = min(n, len(*from))
			*to = append(*to, (*from)[:n]...)
			if *from = (*from)[n:]; len(*from) == 0 {
				*from = nil // whose memory can go while other tables are at work
			}
			return n
		},
		text: func(f *fact.Facts) string {
			text, _ := json.Marshal((*rows(f))[0]) // strings, numbers, lists and maps
			return string(text)
		},
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
	}
}
