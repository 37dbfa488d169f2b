package statemetrics

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf8"

	generator "k8s.io/kube-state-metrics/v2/pkg/metric_generator"
)

// A text is all lines of an object, without the families' names and without what all of its lines
// begin with, which is the object's own label: {persistentvolume="pvc-…". It is the length of that
// beginning and of each family's lines, as varints, and then the beginning and the lines. A volume's
// text is a third of its lines.

// pack returns the text of an object.
func pack(families []generator.FamilyGenerator, object any) string {
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
		return packLines(toValid(all, ends))
	}
	return packLines(all, ends)
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

func packLines(all []byte, ends []int) string {
	prefix := commonPrefix(all)
	var header, body []byte
	header = binary.AppendUvarint(header, uint64(len(prefix)))
	begin := 0
	for _, end := range ends {
		before := len(body)
		for line := range bytes.Lines(all[begin:end]) {
			body = append(body, line[len(prefix):]...)
		}
		header = binary.AppendUvarint(header, uint64(len(body)-before))
		begin = end
	}
	var text strings.Builder
	text.Grow(len(header) + len(prefix) + len(body))
	text.Write(header)
	text.Write(prefix)
	text.Write(body)
	return text.String()
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

// linesOf returns the beginning of an object's lines and the rests of those of its family i.
func linesOf(text string, families, i int) (prefix, rests string) {
	n, at := uvarint(text, 0)
	begin, length := 0, 0
	for family := range families {
		var l int
		l, at = uvarint(text, at)
		if family < i {
			begin += l
		} else if family == i {
			length = l
		}
	}
	body := text[at+n:]
	return text[at : at+n], body[begin : begin+length]
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
