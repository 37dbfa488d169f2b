package embedded

import "testing"

func TestLimitsFitTheDisk(t *testing.T) {
	const gib = 1 << 30
	for _, c := range []struct {
		on                        disk
		wantTemporary, wantToKeep int64
	}{
		{disk{size: 1000 * gib}, 16 * gib, 2 * gib},
		{disk{size: 20 * gib}, 5 * gib, 2 * gib},
		{disk{size: 10 * gib}, 5 * gib / 2, gib},
		{disk{}, 2, 0}, // 0 would be no limit, of half of it, too
	} {
		if l := standardLimits.on(c.on); l.temporary != c.wantTemporary || l.keepFree != c.wantToKeep {
			t.Errorf("%+v: %+v", c.on, l)
		}
	}
}
