package catalog

import (
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// coverage tells the catalog since when, and until when, each kind has been watched
// without a gap.
type coverage struct {
	instance string
	kinds    map[fact.Kind]fact.Position // as of the last update
	told     map[fact.Kind]time.Time
	moved    map[fact.Kind]fact.Position // since the last checkpoints were written
	pointed  time.Time                   // when that was
	version  uint64
}

// newCoverage goes on with the spans that a journal knows.
func newCoverage(j *journal.Journal) *coverage {
	return &coverage{
		instance: j.ID(), kinds: positionsOf(j), told: map[fact.Kind]time.Time{}, moved: map[fact.Kind]fact.Position{},
	}
}

// add puts rows into facts: when a span begins or ends, and now and then how far it is.
func (c *coverage) add(facts *fact.Facts, positions map[fact.Kind]fact.Position, now time.Time) {
	for kind, p := range positions {
		before, known := c.kinds[kind]
		c.kinds[kind] = p
		begins := !known || before.Since != p.Since
		if known && begins {
			facts.Coverage = append(facts.Coverage, c.row(before, before.At, now))
		}
		if begins || now.Sub(c.told[kind]) >= coverageEvery {
			c.told[kind] = now
			facts.Coverage = append(facts.Coverage, c.row(p, 0, now))
		}
		c.moved[kind] = p
	}
}

// checkpoints tells, at the end of the rows of a commit, how far the kinds are that have
// moved: by that a tracker that stands by knows what has been written. They are not worth a
// batch of their own more often than the spans are.
func (c *coverage) checkpoints(rows int, now time.Time) (list []fact.Checkpoint) {
	if rows == 0 && now.Sub(c.pointed) < coverageEvery {
		return nil
	}
	for kind, p := range c.moved {
		list = append(list, fact.Checkpoint{Instance: c.instance, Kind: kind, ResourceVersion: p.ResourceVersion, EventVersion: p.EventVersion, At: p.At})
	}
	clear(c.moved)
	c.pointed = now
	return list
}

func (c *coverage) row(p fact.Position, ended fact.Time, now time.Time) fact.Coverage {
	c.version = max(c.version+1, uint64(now.UnixMicro()))
	return fact.Coverage{
		Version: c.version, Instance: c.instance, Kind: p.Kind, StartedAt: p.Since, SeenAt: p.At, EndedAt: ended,
	}
}
