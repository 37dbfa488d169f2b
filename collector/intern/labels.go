package intern

import (
	"maps"
	"slices"
	"strings"
	"unique"
)

// What is the same for many objects (a template's containers, a class's access
// modes, a controller's annotations) is held once, behind a unique.Handle: eight
// bytes that compare with ==.

// word is a string that many objects have in common.
type Word = unique.Handle[string]

// packed is a set of labels. Its keys are those of many objects; what is an object's own,
// the values, is one string: a fifth of what a map takes.
type Labels struct {
	keys   Word   // sorted, each behind its length; the zero word if there are none
	values string // in the order of the keys, likewise
}

// each yields the labels in the order of their keys.
func (p Labels) Each(yield func(key, value string) bool) {
	var key, value string
	for keys, values := Text(p.keys), p.values; keys != ""; {
		key, keys = cut(keys)
		value, values = cut(values)
		if !yield(key, value) {
			return
		}
	}
}

// Get returns the value of a label, empty if it is not in the set.
func (p Labels) Get(key string) string {
	for k, value := range p.Each {
		if k == key {
			return value
		}
	}
	return ""
}

func Pack(m map[string]string) Labels {
	if len(m) == 0 {
		return Labels{}
	}
	var keys, values []byte
	for _, key := range slices.Sorted(maps.Keys(m)) {
		keys, values = appendPacked(keys, key), appendPacked(values, m[key])
	}
	return Labels{unique.Make(string(keys)), string(values)}
}

// In returns the same labels with their values in an arena.
func (p Labels) In(a *Arena) Labels {
	p.values = a.Hold(p.values)
	return p
}

func appendPacked(b []byte, s string) []byte {
	n := len(s)
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(append(b, byte(n)), s...)
}

// cut returns the first string of those that appendPacked has written, and the rest.
func cut(s string) (first, rest string) {
	n, i := 0, 0
	for shift := 0; ; shift += 7 {
		b := s[i]
		i++
		n |= int(b&0x7f) << shift
		if b < 0x80 {
			return s[i : i+n], s[i+n:]
		}
	}
}

// unpack returns the labels as a map, nil if there are none.
func (p Labels) Unpack() map[string]string {
	if p == (Labels{}) {
		return nil
	}
	m := map[string]string{}
	for key, value := range p.Each {
		m[key] = value
	}
	return m
}

// equal compares with a map, and allocates nothing.
func (p Labels) Equal(m map[string]string) bool {
	n := 0
	for key, value := range p.Each {
		if v, ok := m[key]; !ok || v != value {
			return false
		}
		n++
	}
	return n == len(m)
}

// repack returns p if it is m already, else m packed.
func Repack(p Labels, m map[string]string) Labels {
	if p.Equal(m) {
		return p
	}
	return Pack(m)
}

// repackShared does the same behind a handle.
func RepackShared(h unique.Handle[Labels], m map[string]string) unique.Handle[Labels] {
	if h != (unique.Handle[Labels]{}) && h.Value().Equal(m) {
		return h
	}
	return unique.Make(Pack(m))
}

// chunk is how much of a list's names lies together.
const chunk = 8 << 10

// names holds strings next to each other. What a list leaves lies among all that it took to
// read it; when that is garbage, each of its pages would be kept for the few strings on it.
// They go when the last one of their chunk is not referred to any more, so it is not for
// what comes and goes.
type Arena struct{ last strings.Builder }

func (n *Arena) Hold(s string) string {
	if n.last.Len()+len(s) > n.last.Cap() {
		n.last = strings.Builder{}
		n.last.Grow(max(chunk, len(s)))
	}
	from := n.last.Len()
	n.last.WriteString(s)
	return n.last.String()[from:]
}

// slab holds lists next to each other, for the same reason.
type Slab[T any] struct{ free []T }

func (s *Slab[T]) Hold(list []T) []T {
	n := len(list)
	if n > len(s.free) {
		s.free = make([]T, max(slabLength, n))
	}
	held := s.free[:n:n]
	s.free = s.free[n:]
	copy(held, list)
	return held
}

// slabLength is how many elements lie together: some kilobytes, as chunk.
const slabLength = 64

// unpacking keeps what was unpacked last of labels that many objects have in common: rows
// that are told one after the other share a map.
type Unpacker struct {
	of     unique.Handle[Labels]
	labels map[string]string
}

func (u *Unpacker) Unpack(h unique.Handle[Labels]) map[string]string {
	if u.of != h {
		u.of, u.labels = h, h.Value().Unpack()
	}
	return u.labels
}

// joined writes a list into one string, split reads it; no element holds a comma.
func Join[S ~string](list []S) string {
	switch len(list) {
	case 0:
		return ""
	case 1:
		return string(list[0])
	}
	s := make([]string, len(list))
	for i, e := range list {
		s[i] = string(e)
	}
	return strings.Join(s, ",")
}

func Split(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// textOf is a word's text, empty for the zero word.
func Text(w Word) string {
	if w == (Word{}) {
		return ""
	}
	return w.Value()
}
