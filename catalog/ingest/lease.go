package ingest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// Lease says which of several trackers writes the catalog. An instance is the ID of a tracker's journal. Package
// election implements it.
type Lease interface {
	// Held returns a context that ends with this tracker's lease; nil while it has none.
	Held() context.Context
	// Former returns the instance of the other tracker that has the lease, or had it last; empty if there is
	// none. Until is the last moment, by that tracker's clock, at which it can have given a version to a row.
	Former() (instance string, until time.Time)
	// Changed returns a channel that is closed when this tracker's lease begins or ends.
	Changed() <-chan struct{}
}

// followEvery is how often a tracker that stands by reads the leader's checkpoints.
const followEvery = 3 * time.Second

// follower is the state of a tracker that stands by. Its writer acknowledges the batches whose rows the leader has
// written, without writing them. A batch counts as written once the leader's checkpoints reach the last event before it,
// for each kind; a bookmark after that event need not be reached, as no row comes of it. A batch without checkpoints is
// the first part of a longer commit, and is acknowledged with the last part.
//
// No event causes some rows: the tracker's clock emits them, or a restore does. A leader may die after it has written an event and before it has
// written such rows. So a batch with them counts as written once the leader has passed this tracker's position; if nothing happens, a later bookmark
// shows that.
//
// How full a volume is comes from kubelets and not from a watch, and no checkpoint says that the leader has asked them.
// The last measurement of each volume is therefore kept in Writer.measured, until this tracker leads.
type follower struct {
	number uint64            // the first batch with checkpoints; 0 if it has to be looked for
	needs  []fact.Checkpoint // its checkpoints
}

// covered reports whether the leader's checkpoints reach those of a batch.
func covered(needs []fact.Checkpoint, by checkpointMap) bool {
	for i := range needs {
		version := needs[i].EventVersion
		if version == "" || needs[i].Unprompted {
			version = needs[i].ResourceVersion
		}
		if !by.covers(needs[i].Kind, version) {
			return false
		}
	}
	return true
}

// follow reads the leader's checkpoints once, acknowledges the batches that the leader has written, and waits for
// followEvery or a change of the lease.
func (w *Writer) follow(ctx context.Context) error {
	changed := w.options.Lease.Changed()
	if w.options.Lease.Held() != nil {
		return nil
	}
	if leader, _ := w.options.Lease.Former(); leader != "" {
		var written checkpointMap
		err := w.attempt(ctx, func(ctx context.Context) (err error) {
			written, err = readCheckpoints(ctx, w.catalog, w.options.Cluster, leader)
			return err
		})
		if err == nil {
			if err := w.acknowledgeWritten(ctx, written, map[fact.Kind]bool{}); err != nil {
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

// acknowledgeWritten acknowledges the batches that another tracker has written, by its checkpoints. Compared is that of leaveOutForeign.
func (w *Writer) acknowledgeWritten(ctx context.Context, written checkpointMap, compared map[fact.Kind]bool) error {
	for {
		if found, err := w.nextNeeds(); err != nil || !found || !covered(w.follower.needs, written) {
			return err
		}
		kinds := make([]fact.Kind, len(w.follower.needs))
		for i := range w.follower.needs {
			kinds[i] = w.follower.needs[i].Kind
		}
		if err := w.leaveOutForeign(ctx, kinds, compared, written); err != nil || !covered(w.follower.needs, written) {
			return nil //nolint:nilerr // what is not known to be written stays
		}
		number := w.follower.number
		w.follower = follower{}
		if err := w.options.Journal.Acknowledge(number); err != nil {
			return fmt.Errorf("journal: %w", err)
		}
	}
}

// nextNeeds looks for the first batch with checkpoints, unless it is known already, and keeps the measurements of the
// batches on the way.
func (w *Writer) nextNeeds() (found bool, err error) {
	if w.follower.number != 0 {
		return true, nil
	}
	for last := uint64(0); ; {
		b, err := w.peek(last)
		if b == nil {
			return false, err
		}
		for _, u := range b.facts.Usage {
			w.measured[u.VolumeUID] = u
		}
		for i := range b.facts.Volumes {
			if v := &b.facts.Volumes[i]; v.DeletedAt != 0 {
				delete(w.measured, v.UID)
			}
		}
		if last = b.number; len(b.facts.Checkpoints) > 0 {
			w.follower = follower{b.number, b.facts.Checkpoints}
			return true, nil
		}
	}
}

// writeMeasured writes the measurements whose batches were acknowledged while another tracker led. It returns false if
// ctx ended before they were written.
func (w *Writer) writeMeasured(ctx context.Context) bool {
	if len(w.measured) == 0 {
		return true
	}
	b := &batch{}
	b.facts.Usage = slices.Collect(maps.Values(w.measured))
	if !w.write(ctx, b) {
		return false
	}
	clear(w.measured)
	return true
}
