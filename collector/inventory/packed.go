package inventory

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
type word = unique.Handle[string]

// packed is a set of labels. Its keys are those of many objects; what is an object's own,
// the values, is one string: a fifth of what a map takes.
type packed struct {
	keys   word   // sorted, each behind its length; the zero word if there are none
	values string // in the order of the keys, likewise
}

// LabelSet is a set of labels that compares with ==.
type LabelSet = packed

// PackLabels returns a map of labels as a LabelSet.
func PackLabels(m Labels) LabelSet { return pack(m) }

// each yields the labels in the order of their keys.
func (p packed) each(yield func(key, value string) bool) {
	var key, value string
	for keys, values := textOf(p.keys), p.values; keys != ""; {
		key, keys = cut(keys)
		value, values = cut(values)
		if !yield(key, value) {
			return
		}
	}
}

// Get returns the value of a label, empty if it is not in the set.
func (p packed) Get(key string) string {
	for k, value := range p.each {
		if k == key {
			return value
		}
	}
	return ""
}

func pack(m Labels) packed {
	if len(m) == 0 {
		return packed{}
	}
	var keys, values []byte
	for _, key := range slices.Sorted(maps.Keys(m)) {
		keys, values = appendPacked(keys, key), appendPacked(values, m[key])
	}
	return packed{unique.Make(string(keys)), string(values)}
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
func (p packed) unpack() Labels {
	if p == (packed{}) {
		return nil
	}
	m := Labels{}
	for key, value := range p.each {
		m[key] = value
	}
	return m
}

// equal compares with a map, and allocates nothing.
func (p packed) equal(m Labels) bool {
	n := 0
	for key, value := range p.each {
		if v, ok := m[key]; !ok || v != value {
			return false
		}
		n++
	}
	return n == len(m)
}

// repack returns p if it is m already, else m packed.
func repack(p packed, m Labels) packed {
	if p.equal(m) {
		return p
	}
	return pack(m)
}

// repackShared does the same behind a handle.
func repackShared(h unique.Handle[packed], m Labels) unique.Handle[packed] {
	if h != (unique.Handle[packed]{}) && h.Value().equal(m) {
		return h
	}
	return unique.Make(pack(m))
}

// chunk is how much of a list's names lies together.
const chunk = 8 << 10

// names holds strings next to each other. What a list leaves lies among all that it took to
// read it; when that is garbage, each of its pages would be kept for the few strings on it.
// They go when the last one of their chunk is not referred to any more, so it is not for
// what comes and goes.
type names struct{ last strings.Builder }

func (n *names) hold(s string) string {
	if n.last.Len()+len(s) > n.last.Cap() {
		n.last = strings.Builder{}
		n.last.Grow(max(chunk, len(s)))
	}
	from := n.last.Len()
	n.last.WriteString(s)
	return n.last.String()[from:]
}

// slab holds lists next to each other, for the same reason.
type slab[T any] struct{ free []T }

func (s *slab[T]) hold(list []T) []T {
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

// heldList is a list to be held for as long as an object, where to hold it in if it came in a
// list.
func heldList[T any](inv *Inventory, in *slab[T], list []T) []T {
	if !inv.listing {
		return slices.Clip(list)
	}
	return in.hold(list)
}

// heldOne is one such element.
func heldOne[T any](inv *Inventory, in *slab[T], element T) *T {
	if !inv.listing {
		return &element
	}
	return &in.hold([]T{element})[0]
}

// heldName is a string to be held for as long as an object.
func (inv *Inventory) heldName(s string) string {
	if !inv.listing {
		return s
	}
	return inv.names.hold(s)
}

// heldLabels is m packed, to be held for as long as an object; p if it is that already.
func (inv *Inventory) heldLabels(p packed, m Labels) packed {
	if p.equal(m) {
		return p
	}
	p = pack(m)
	p.values = inv.heldName(p.values)
	return p
}

// unpacking keeps what was unpacked last of labels that many objects have in common: rows
// that are told one after the other share a map.
type unpacking struct {
	of     unique.Handle[packed]
	labels Labels
}

func (u *unpacking) unpack(h unique.Handle[packed]) Labels {
	if u.of != h {
		u.of, u.labels = h, h.Value().unpack()
	}
	return u.labels
}

// joined writes a list into one string, split reads it; no element holds a comma.
func joined[S ~string](list []S) string {
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

func split(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}
