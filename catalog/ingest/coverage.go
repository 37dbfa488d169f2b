package ingest

import (
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// coverageEvery is how often, at most, a span that goes on gets a new row, and checkpoints get a batch of their own.
const coverageEvery = time.Minute

// coverage makes the rows that say in which spans each kind was watched without a gap, and the checkpoints.
type coverage struct {
	instance     string
	kinds        map[fact.Kind]fact.Position // as of the last update
	emitted      map[fact.Kind]time.Time     // when each kind last got a row
	moved        map[fact.Kind]fact.Position // since the last checkpoints
	checkpointed time.Time                   // when those were made
	unprompted   bool                        // whether no event caused a row since then
	version      uint64
}

// newCoverage continues the spans of a journal, and the versions of their rows: the clock may have been set back since.
// No event may have caused the rows after its last checkpoints, or those that the restore emits.
func newCoverage(j *journal.Journal) *coverage {
	return &coverage{
		instance: j.ID(), kinds: positionsOf(j), emitted: map[fact.Kind]time.Time{}, moved: map[fact.Kind]fact.Position{}, unprompted: true,
		version: j.Version(),
	}
}

// add appends rows to facts: one when a span begins, one when it ends, and one now and then while it goes on.
func (c *coverage) add(facts *fact.Facts, positions map[fact.Kind]fact.Position, now time.Time) {
	for kind, p := range positions {
		before, known := c.kinds[kind]
		c.kinds[kind] = p
		begins := !known || before.Since != p.Since
		if known && begins {
			facts.Coverage = append(facts.Coverage, c.row(before, before.At, now))
		}
		if begins || now.Sub(c.emitted[kind]) >= coverageEvery {
			c.emitted[kind] = now
			facts.Coverage = append(facts.Coverage, c.row(p, 0, now))
		}
		c.moved[kind] = p
	}
}

// checkpoints returns the checkpoints to write after the rows of a commit, for the kinds that have moved. By them
// the trackers that stand by know which rows have been written. Without rows they are returned once per
// coverageEvery only: more often they are not worth a batch.
func (c *coverage) checkpoints(rows int, unprompted bool, now time.Time) (list []fact.Checkpoint) {
	c.unprompted = c.unprompted || unprompted
	if len(c.moved) == 0 || rows == 0 && now.Sub(c.checkpointed) < coverageEvery {
		return nil
	}
	for kind, p := range c.moved {
		list = append(list, fact.Checkpoint{
			Instance: c.instance, Kind: kind, ResourceVersion: p.ResourceVersion, EventVersion: p.EventVersion, At: p.At, Unprompted: c.unprompted,
		})
	}
	clear(c.moved)
	c.checkpointed, c.unprompted = now, false
	return list
}

func (c *coverage) row(p fact.Position, ended fact.Time, now time.Time) fact.Coverage {
	c.version = max(c.version+1, micros(now))
	return fact.Coverage{
		Version: c.version, Instance: c.instance, Kind: p.Kind, StartedAt: p.Since, SeenAt: p.At, EndedAt: ended,
	}
}
