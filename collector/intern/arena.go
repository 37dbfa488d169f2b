package intern

import "strings"

// chunk is how many bytes of strings lie together.
const chunk = 8 << 10

// Arena keeps strings next to each other. The strings that a decoded list leaves behind lie
// among all that it took to read it; when that is garbage, each of its pages would be kept for
// the few strings on it. A chunk is freed when none of its strings is referred to any more, so
// an arena is for what comes in lists and stays, not for what comes and goes.
type Arena struct{ last strings.Builder }

// Hold returns a copy of a string that lies in the arena.
func (n *Arena) Hold(s string) string {
	if n.last.Len()+len(s) > n.last.Cap() {
		n.last = strings.Builder{}
		n.last.Grow(max(chunk, len(s)))
	}
	from := n.last.Len()
	n.last.WriteString(s)
	return n.last.String()[from:]
}

// Slab keeps lists next to each other, for the same reason.
type Slab[T any] struct{ free []T }

// Hold returns a copy of a list that lies in the slab. It has no room to grow into its neighbour.
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
