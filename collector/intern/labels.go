package intern

import (
	"encoding/binary"
	"maps"
	"slices"
	"unique"
)

// Labels is a set of labels or annotations, which compares with ==. It shares the keys with other
// objects and stores the values, an object's own, as one string. It takes a fifth of the memory of
// a map.
type Labels struct {
	keys   Word   // sorted, each preceded by its length; the zero word if there are none
	values string // in the order of the keys, each preceded by its length
}

// Each yields the labels in the order of their keys.
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
	value, _ := p.Lookup(key)
	return value
}

// Lookup returns the value of a key, and whether it is there: its value may be empty.
func (p Labels) Lookup(key string) (value string, ok bool) {
	for k, value := range p.Each {
		if k == key {
			return value, true
		}
	}
	return "", false
}

// Pack converts a map to Labels.
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

// In returns the same labels with their values copied into an arena.
func (p Labels) In(a *Arena) Labels {
	p.values = a.Hold(p.values)
	return p
}

func appendPacked(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// cut returns the first of the strings that appendPacked has written, and the rest. It decodes the
// length itself, because binary.Uvarint does not take a string.
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

// Unpack returns the labels as a map, nil if there are none.
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

// Equal reports whether the labels equal a map. It does not allocate.
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

// Repack returns p if it equals m, else m packed.
func Repack(p Labels, m map[string]string) Labels {
	if p.Equal(m) {
		return p
	}
	return Pack(m)
}

// RepackShared is Repack for Labels behind a handle.
func RepackShared(h unique.Handle[Labels], m map[string]string) unique.Handle[Labels] {
	if h != (unique.Handle[Labels]{}) && h.Value().Equal(m) {
		return h
	}
	return unique.Make(Pack(m))
}

// Rehandle returns h if it is v's handle, else v's handle: a comparison is cheaper than a lookup.
func Rehandle[T comparable](h unique.Handle[T], v T) unique.Handle[T] {
	if h != (unique.Handle[T]{}) && h.Value() == v {
		return h
	}
	return unique.Make(v)
}

// Unpacker unpacks labels that many objects share, and caches the last map, so that successive rows
// share it.
type Unpacker struct {
	of     unique.Handle[Labels]
	labels map[string]string
}

// Unpack returns the labels behind a handle as a map, which must not be written to.
func (u *Unpacker) Unpack(h unique.Handle[Labels]) map[string]string {
	if u.of != h {
		u.of, u.labels = h, h.Value().Unpack()
	}
	return u.labels
}
