package intern

import (
	"slices"
	"strings"
	"testing"
	"unsafe"
)

func TestPackedLabels(t *testing.T) {
	for _, m := range []map[string]string{nil, {"a": ""}, {"a": "1", "b": "2"}, {strings.Repeat("k", 63): strings.Repeat("v", 40_000)}} {
		p := Pack(m)
		if got := p.Unpack(); len(got) != len(m) || !p.Equal(m) {
			t.Errorf("%d labels became %d", len(m), len(got))
		}
		if p.Equal(map[string]string{"a": "other"}) || p.Equal(map[string]string{"x": "1", "y": "2"}) {
			t.Errorf("%v equals what it is not", m)
		}
	}
	if got := Join([]string{"ReadWriteOnce", "ReadOnlyMany"}); got != "ReadWriteOnce,ReadOnlyMany" || len(Split(got)) != 2 {
		t.Errorf("the list became %q", got)
	}
}

// TestNamesOfAListLieTogether checks that the names of a list are what they were, and next to
// each other, whatever their lengths.
func TestNamesOfAListLieTogether(t *testing.T) {
	var n Arena
	var held []string
	for i := range 3 * chunk / 100 {
		s := strings.Repeat(string(rune('a'+i%26)), i%200)
		held = append(held, n.Hold(s))
		if held[i] != s {
			t.Fatalf("%q became %q", s, held[i])
		}
	}
	together := 0
	for i := range held[:len(held)-1] {
		if unsafe.Add(unsafe.Pointer(unsafe.StringData(held[i])), len(held[i])) == unsafe.Pointer(unsafe.StringData(held[i+1])) {
			together++
		}
	}
	if together < len(held)-10 {
		t.Errorf("of %d names %d lie next to the one before", len(held), together)
	}
	if long := strings.Repeat("x", 2*chunk); n.Hold(long) != long {
		t.Error("a long name is not held")
	}
}

// TestListsLieTogether checks that lists in a slab are what they were, and do not grow into
// each other.
func TestListsLieTogether(t *testing.T) {
	var s Slab[int]
	first, second, long := s.Hold([]int{1, 2}), s.Hold([]int{3}), s.Hold(make([]int, slabLength+1))
	if first = append(first, 4); !slices.Equal(first, []int{1, 2, 4}) || !slices.Equal(second, []int{3}) || len(long) != slabLength+1 {
		t.Errorf("%v %v, and %d", first, second, len(long))
	}
}
