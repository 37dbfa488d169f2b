package statemetrics

import (
	"bytes"
	"slices"
	"strings"
	"sync"
)

// A shape is what the lines of many objects have in common: the names of the labels, and the values of those labels
// that have few values. Of 20,000 bound volumes of one class and driver there is one shape.
//
// A shape's key is its lines, family by family. Each begins with beginOfLine and has an openValue for each value that
// an object's text has; an endOfFamily follows each family's lines. UTF-8 has none of these three bytes.
const (
	openValue   = 0xff
	beginOfLine = 0xfe
	endOfFamily = 0xfd
)

// maxShapes bounds the table at some 2 MB: 2 KB a shape. Objects make new shapes by the names of their labels, if those are
// served, so the number of shapes has no bound of its own.
const maxShapes = 1024

// fewValues are the labels whose values are part of the shape. Wrong entries, and missing ones, cost memory only. The
// storage class is none of them: who makes claims can invent classes, and shapes stay for ever.
var fewValues = map[string]bool{
	"access_mode": true, "attacher": true, "condition": true, "csi_driver": true, "host_path_type": true, "phase": true,
	"provisioner": true, "reclaim_policy": true, "status": true, "volume_binding_mode": true, "volume_mode": true, "volumemode": true,
}

// split divides lines into the key of their shape and the values that it leaves open.
type split struct{ key, values []byte }

// addLine adds a line, from behind what all lines of the object begin with.
func (s *split) addLine(line []byte) {
	s.key = append(s.key, beginOfLine)
	done := 0 // what is in the key or among the values
	for from := 0; ; {
		begin, end, ok := nextValue(line, from)
		if !ok {
			break
		}
		if begin < end && !fewValues[string(labelName(line[from:begin]))] {
			s.open(line[done:begin], line[begin:end])
			done = end
		}
		from = end + 1
	}
	number := bytes.LastIndexByte(line, ' ') + 1
	if value := line[number : len(line)-1]; len(value) > 1 { // 0 and 1 are states, others belong to one object
		s.open(line[done:number], value)
		done = len(line) - 1
	}
	s.key = append(s.key, line[done:]...)
}

// open adds a part of the shape, and a value that follows it.
func (s *split) open(part, value []byte) {
	s.key = append(append(s.key, part...), openValue)
	s.values = appendField(s.values, value)
}

// labelName returns the name in `,name="`, or in `{name="`.
func labelName(text []byte) []byte {
	text = bytes.TrimSuffix(text, []byte(`="`))
	return text[bytes.LastIndexAny(text, "{,")+1:]
}

// shapes is the table of shapes by their numbers, which begin at 1. Shapes stay in it for ever.
type shapes struct {
	mu      sync.Mutex
	numbers map[string]uint64 // by key
	all     []*shape
}

func newShapes() *shapes { return &shapes{numbers: map[string]uint64{}} }

// number returns the number of a key's shape, or 0 if the table is full.
func (s *shapes) number(key []byte) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n, known := s.numbers[string(key)]; known {
		return n
	}
	if len(s.all) == maxShapes {
		return 0
	}
	own := string(key)
	s.all = append(s.all, newShape(own))
	s.numbers[own] = uint64(len(s.all))
	return s.numbers[own]
}

// decode returns a text's shape, and the text behind the shape.
func (s *shapes) decode(text string) object {
	number, at := uvarint(text, 0)
	if number == 0 {
		key, next := field(text, at)
		return object{newShape(key), text[next:]}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return object{s.all[number-1], text[at:]}
}

// shape is a key, ready for a scrape.
type shape struct{ families []shapeFamily }

// shapeFamily has a family's lines as the parts between open values.
type shapeFamily struct {
	skip  int // how many values the families before it have
	lines [][]string
}

func newShape(key string) *shape {
	s := &shape{}
	skip := 0
	for text := range strings.SplitSeq(strings.TrimSuffix(key, string([]byte{endOfFamily})), string([]byte{endOfFamily})) {
		f := shapeFamily{skip: skip}
		if text != "" {
			for line := range strings.SplitSeq(text[1:], string([]byte{beginOfLine})) {
				parts := strings.Split(line, string([]byte{openValue}))
				skip += len(parts) - 1
				f.lines = append(f.lines, slices.Clip(parts))
			}
		}
		s.families = append(s.families, f)
	}
	return s
}

// object is the text of an object with its shape. Its zero value has no lines.
type object struct {
	shape *shape
	text  string
}

// eachLine yields the lines of family i, in a buffer that it returns, until yield returns false.
func (o *object) eachLine(i int, line []byte, yield func([]byte) bool) (buffer []byte, more bool) {
	f := &o.shape.families[i]
	if len(f.lines) == 0 {
		return line, true
	}
	prefix, at := field(o.text, 0)
	for range f.skip {
		var length int
		length, at = uvarint(o.text, at)
		at += length
	}
	for _, parts := range f.lines {
		line = append(append(line[:0], prefix...), parts[0]...)
		for _, part := range parts[1:] {
			var value string
			value, at = field(o.text, at)
			line = append(append(line, value...), part...)
		}
		if !yield(line) {
			return line, false
		}
	}
	return line, true
}
