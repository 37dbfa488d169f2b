package catalog

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// Lease says which of several trackers writes the catalog; an instance is the ID of a
// tracker's journal.
type Lease interface {
	// Held returns a context that ends with this tracker's lease; nil while it has none.
	Held() context.Context
	// Former tells of the other tracker that holds the lease, or held it last: its
	// instance, empty if there is none, and the last moment, by its own clock, at which it can
	// have given out a row.
	Former() (instance string, until time.Time)
	// Changed returns a channel that is closed when this tracker's lease begins or ends.
	Changed() <-chan struct{}
}

// followEvery is how often a tracker that stands by looks how far the leader is.
const followEvery = 3 * time.Second

// follower lets go of what the leader has written. A batch is told to be written once the
// leader's checkpoints are as far as its own, kind by kind; a batch that has none is the
// first part of a longer one, and goes with its end.
//
// How full a volume is comes from no watch: no checkpoint says that the leader has measured it, too.
// So the last measurement of each volume is kept for when this tracker leads.
type follower struct {
	number uint64 // of the first batch with checkpoints that was not covered when last looked at
	needs  []fact.Checkpoint
}

// covered reports whether all that a batch needs has been written.
func covered(needs []fact.Checkpoint, by checkpointMap) bool {
	for i := range needs {
		if !by.covers(needs[i].Kind, needs[i].ResourceVersion) {
			return false
		}
	}
	return true
}

// follow looks once how far the leader is, lets go of the batches that it has written,
// and waits a while.
func (w *Writer) follow(ctx context.Context) error {
	changed := w.options.Lease.Changed()
	if w.options.Lease.Held() != nil {
		return nil
	}
	if leader, _ := w.options.Lease.Former(); leader != "" {
		var written checkpointMap
		err := w.attempt(ctx, func(ctx context.Context) (err error) {
			written, err = w.catalog.checkpoints(ctx, w.options.Cluster, leader)
			return err
		})
		if err == nil {
			if err := w.letGo(written); err != nil {
				return err
			}
		}
	} else {
		_ = w.attempt(ctx, w.catalog.Ping)
	}
	timer := time.NewTimer(followEvery)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-changed:
	}
	return nil
}

// letGo acknowledges the batches that another tracker has written.
func (w *Writer) letGo(written checkpointMap) error {
	for {
		if found, err := w.nextNeeds(); err != nil || !found || !covered(w.follower.needs, written) {
			return err
		}
		number := w.follower.number
		w.follower = follower{}
		if err := w.options.Journal.Acknowledge(number); err != nil {
			return fmt.Errorf("journal: %w", err)
		}
	}
}

// nextNeeds finds the first batch with checkpoints, unless it is known already.
func (w *Writer) nextNeeds() (found bool, err error) {
	if w.follower.number != 0 {
		return true, nil
	}
	for last := uint64(0); ; {
		b, err := w.waiting(last)
		if b == nil {
			return false, err
		}
		for _, u := range b.facts.Usage {
			w.measured[u.VolumeUID] = u
		}
		if last = b.number; len(b.facts.Checkpoints) > 0 {
			w.follower = follower{b.number, b.facts.Checkpoints}
			return true, nil
		}
	}
}

// writeMeasured writes the measurements whose batches were acknowledged while another tracker led. It
// returns false if ctx ended before they were written.
func (w *Writer) writeMeasured(ctx context.Context) bool {
	if len(w.measured) == 0 {
		return true
	}
	b := &batch{name: fmt.Sprintf("%s-measured-%d", w.options.Journal.ID(), w.taken.since.UnixNano())}
	b.facts.Usage = slices.Collect(maps.Values(w.measured))
	if !w.write(ctx, b) {
		return false
	}
	clear(w.measured)
	return true
}
