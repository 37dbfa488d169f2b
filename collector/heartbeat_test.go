package collector

import (
	"testing"
	"time"
)

// clocks are a wall clock and a steady one that a test moves.
type clocks struct{ reading }

func (c *clocks) read() reading { return c.reading }

func (c *clocks) move(wall, steady time.Duration) {
	c.wall, c.steady = c.wall.Add(wall), c.steady+steady
}

// TestHeartbeat holds what counts as a pause, and from when on.
func TestHeartbeat(t *testing.T) {
	const long = 15 * time.Second
	for name, test := range map[string]struct {
		wall, steady time.Duration // how far the clocks move between two beats
		pauses       int
		from         time.Duration // against the last beat
		setBack      time.Duration
	}{
		"an ordinary beat":                       {beatEvery, beatEvery, 0, 0, 0},
		"a late beat":                            {pausedAfter, pausedAfter, 0, 0, 0},
		"a stopped process":                      {long, long, 1, 0, 0},
		"a suspended machine":                    {long, beatEvery, 1, 0, 0},
		"a clock that is corrected a little":     {beatEvery - time.Second, beatEvery, 0, 0, 0},
		"a clock that is set back":               {beatEvery - time.Hour, beatEvery, 0, 0, time.Hour},
		"a clock that is set back in a pause":    {long - time.Hour, long, 1, -time.Hour, time.Hour},
		"a clock that is set back by the pause":  {0, long, 1, -long, long},
		"a clock that is set forward in a pause": {long + time.Hour, long, 1, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := &clocks{reading{wall: time.Unix(1_700_000_000, 0)}}
			h := newHeartbeat(c.read)
			c.move(beatEvery, beatEvery)
			before := h.beat()
			c.move(test.wall, test.steady)
			if now := h.beat(); !now.Equal(c.wall) {
				t.Errorf("the beat is at %s, and the clock at %s", now, c.wall)
			}
			for range 3 { // others who beat after it
				c.move(0, 0)
				h.beat()
			}
			n := h.interrupted()
			if n.pauses != test.pauses || n.setBack != test.setBack {
				t.Errorf("%d pauses, set back by %s", n.pauses, n.setBack)
			}
			if test.pauses > 0 && n.from.Sub(before) != test.from {
				t.Errorf("paused from %s after the last beat on", n.from.Sub(before))
			}
			if test.pauses > 0 && n.from.After(c.wall) {
				t.Error("the pause began after its end")
			}
			if again := h.interrupted(); again.pauses != 0 || again.setBack != 0 {
				t.Error("it is noticed twice")
			}
		})
	}
}

// TestPausesThatNobodyAskedFor checks that the first of several pauses tells from when on, by
// the clock as it is now.
func TestPausesThatNobodyAskedFor(t *testing.T) {
	c := &clocks{reading{wall: time.Unix(1_700_000_000, 0)}}
	h := newHeartbeat(c.read)
	first := c.wall
	for range 2 {
		c.move(time.Minute, time.Minute)
		h.beat()
	}
	c.move(beatEvery-time.Hour, beatEvery)
	h.beat()
	if n := h.interrupted(); n.pauses != 2 || !n.from.Equal(first.Add(-time.Hour)) {
		t.Errorf("%d pauses from %s on", n.pauses, n.from)
	}
}

// TestReadings takes the real clock: both go on.
func TestReadings(t *testing.T) {
	read := readings(time.Now)
	a, b := read(), read()
	if b.steady < a.steady || b.steady > time.Minute || time.Since(b.wall) > time.Minute {
		t.Errorf("%v and then %v", a, b)
	}
}
