package intern

import "strings"

// chunk is the size of a piece of an arena in bytes.
const chunk = 8 << 10

// Arena stores strings next to each other, in chunks of 8 KiB. The strings of a decoded list lie
// scattered among the decoder's garbage, and each string that is kept would keep its whole page of
// memory. A chunk is freed when none of its strings is referred to any more. So an arena is for
// strings that arrive in lists and stay, not for strings that come and go.
type Arena struct{ last strings.Builder }

// Hold returns a copy of s in the arena.
func (n *Arena) Hold(s string) string {
	if n.last.Len()+len(s) > n.last.Cap() {
		n.last = strings.Builder{}
		n.last.Grow(max(chunk, len(s)))
	}
	from := n.last.Len()
	n.last.WriteString(s)
	return n.last.String()[from:]
}

// Slab stores lists next to each other, for the same reason as Arena.
type Slab[T any] struct{ free []T }

// Hold returns a copy of list in the slab. The copy has no spare capacity, so appending to it does
// not write into its neighbour.
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

// slabLength is the number of elements in a piece of a slab: some kilobytes, like chunk.
const slabLength = 64
