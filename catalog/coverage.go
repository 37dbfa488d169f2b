package catalog

import (
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

// coverage tells the catalog since when, and until when, each kind has been watched
// without a gap.
type coverage struct {
	instance string
	kinds    map[inventory.Kind]inventory.Position // as of the last update
	told     map[inventory.Kind]time.Time
	version  uint64
}

// newCoverage goes on with the spans that a journal knows.
func newCoverage(j *journal.Journal) *coverage {
	return &coverage{instance: j.ID(), kinds: positionsOf(j), told: map[inventory.Kind]time.Time{}}
}

// add puts rows into facts: when a span begins or ends, and now and then how far it is.
func (c *coverage) add(facts *inventory.Facts, positions map[inventory.Kind]inventory.Position, now time.Time) {
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
			facts.Checkpoints = append(facts.Checkpoints, inventory.Checkpoint{
				Instance: c.instance, Kind: kind, ResourceVersion: p.ResourceVersion, At: p.At,
			})
		}
	}
}

func (c *coverage) row(p inventory.Position, ended inventory.Time, now time.Time) inventory.Coverage {
	c.version = max(c.version+1, uint64(now.UnixMicro()))
	return inventory.Coverage{
		Version: c.version, Instance: c.instance, Kind: p.Kind, StartedAt: p.Since, SeenAt: p.At, EndedAt: ended,
	}
}
