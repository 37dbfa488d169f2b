package statemetrics

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"

	generator "k8s.io/kube-state-metrics/v2/pkg/metric_generator"
)

// A text is all lines of an object, encoded: the number of its shape, then what all of its lines begin with, which is
// the object's own label, {persistentvolume="pvc-…", and then the values that the shape leaves open. Numbers are
// varints, and the length of each value precedes it. A volume's text has 150 bytes, and its lines have 1,300.
//
// A shape that the table has no place for is part of the text: number 0, the length of the shape's key, and the key.

// pack returns the text of an object.
func (g *Generators) pack(families []generator.FamilyGenerator, object any) string {
	var lines bytes.Buffer
	ends := make([]int, len(families))
	for i := range families {
		for _, m := range families[i].Generate(object).Metrics {
			m.Write(&lines)
		}
		ends[i] = lines.Len()
	}
	all := lines.Bytes()
	if !utf8.Valid(all) { // one byte of another encoding would cost the whole scrape
		all, ends = toValid(all, ends)
	}
	return encode(all, ends, g.shapes)
}

// toValid replaces what is not UTF-8, family by family.
func toValid(all []byte, ends []int) ([]byte, []int) {
	var valid []byte
	begin, moved := 0, make([]int, len(ends))
	for i, end := range ends {
		valid = append(valid, bytes.ToValidUTF8(all[begin:end], []byte("?"))...)
		begin, moved[i] = end, len(valid)
	}
	return valid, moved
}

// encode encodes lines, of which those of family i end at ends[i].
func encode(all []byte, ends []int, table *shapes) string {
	prefix := commonLabels(all)
	var s split
	begin := 0
	for _, end := range ends {
		for line := range bytes.Lines(all[begin:end]) {
			s.addLine(line[len(prefix):])
		}
		s.key = append(s.key, endOfFamily)
		begin = end
	}
	number := table.number(s.key)
	text := binary.AppendUvarint(make([]byte, 0, len(prefix)+len(s.values)+8), number)
	if number == 0 {
		text = appendField(text, s.key)
	}
	text = append(appendField(text, prefix), s.values...)
	return string(text)
}

// commonLabels returns the labels that all lines begin with, up to a closing quote.
func commonLabels(all []byte) []byte {
	prefix := commonPrefix(all)
	end := 0
	for {
		_, next, ok := nextValue(prefix, end)
		if !ok {
			return prefix[:end]
		}
		end = next + 1
	}
}

// commonPrefix returns what all lines begin with, without a line feed.
func commonPrefix(all []byte) []byte {
	prefix, _, _ := bytes.Cut(all, []byte("\n"))
	for line := range bytes.Lines(all) {
		n := 0
		for n < len(prefix) && n < len(line) && prefix[n] == line[n] {
			n++
		}
		prefix = prefix[:n]
	}
	return prefix
}

// nextValue returns where the next label's value in a line begins, and where its closing quote is.
func nextValue(line []byte, from int) (begin, end int, ok bool) {
	quote := bytes.IndexByte(line[from:], '"')
	if quote < 0 {
		return 0, 0, false
	}
	begin = from + quote + 1
	for end = begin; end < len(line) && line[end] != '"'; end++ {
		if line[end] == '\\' {
			end++
		}
	}
	return begin, end, end < len(line)
}

// appendField appends bytes and, before them, their length.
func appendField(b, field []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(field))), field...)
}

// field reads bytes that appendField appended, and returns the position behind them.
func field(text string, at int) (field string, next int) {
	length, at := uvarint(text, at)
	return text[at : at+length], at + length
}

// uvarint reads a varint at a position of a text and returns the position behind it.
func uvarint(text string, at int) (value, next int) {
	for shift := 0; ; shift += 7 {
		b := text[at]
		at++
		value |= int(b&0x7f) << shift
		if b < 0x80 {
			return value, at
		}
	}
}
