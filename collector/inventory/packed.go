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

// packed is a set of labels in one string, each key and value behind its length;
// keys are sorted. It takes a third of what a map does.
type packed string

// LabelSet is a set of labels that is held in one string, and so compares with ==.
type LabelSet = packed

// PackLabels returns a map of labels as a LabelSet.
func PackLabels(m Labels) LabelSet { return pack(m) }

// Get returns the value of a label, empty if it is not in the set.
func (p packed) Get(key string) string {
	for p != "" {
		var k, value string
		k, p = p.cut()
		value, p = p.cut()
		if k == key {
			return value
		}
	}
	return ""
}

func pack(m Labels) packed {
	if len(m) == 0 {
		return ""
	}
	var b []byte
	for _, key := range slices.Sorted(maps.Keys(m)) {
		b = appendPacked(appendPacked(b, key), m[key])
	}
	return packed(b)
}

func appendPacked(b []byte, s string) []byte {
	n := len(s)
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(append(b, byte(n)), s...)
}

// cut returns the first string and the rest.
func (p packed) cut() (string, packed) {
	n, i := 0, 0
	for shift := 0; ; shift += 7 {
		b := p[i]
		i++
		n |= int(b&0x7f) << shift
		if b < 0x80 {
			return string(p[i : i+n]), p[i+n:]
		}
	}
}

// unpack returns the labels as a map, nil if there are none.
func (p packed) unpack() Labels {
	if p == "" {
		return nil
	}
	m := Labels{}
	for p != "" {
		var key, value string
		key, p = p.cut()
		value, p = p.cut()
		m[key] = value
	}
	return m
}

// equal compares with a map, and allocates nothing.
func (p packed) equal(m Labels) bool {
	n := 0
	for ; p != ""; n++ {
		var key, value string
		key, p = p.cut()
		value, p = p.cut()
		if v, ok := m[key]; !ok || v != value {
			return false
		}
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
