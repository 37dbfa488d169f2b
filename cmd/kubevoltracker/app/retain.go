package app

import (
	"context"
	"time"

	"github.com/go-kit/log/level"
)

const (
	// retainEvery is how often the retention is applied: what a TTL cannot delete is deleted then, and a TTL that somebody has
	// removed is set again.
	retainEvery = 24 * time.Hour
	// retainRetry is how long a failed attempt is waited after.
	retainRetry = 10 * time.Minute
	// retainTimeout bounds an attempt: the first one merges all parts of the large tables.
	retainTimeout = 6 * time.Hour
)

// retain applies the retention to the catalog once it is migrated, and then each day. Of several trackers the leader does so. A
// failure is logged and does not end the tracker: nothing is lost by rows that stay.
func (h *history) retain(ctx context.Context) error {
	for {
		wait := time.Second
		if h.mayRetain() {
			wait = retainEvery
			if err := h.retainOnce(ctx); err != nil && ctx.Err() == nil {
				level.Error(h.logger).Log("msg", "the retention cannot be applied; retrying", "retention", h.retention, "err", err)
				wait = retainRetry
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// mayRetain reports whether the catalog answers, and whether this tracker is the one that writes it.
func (h *history) mayRetain() bool {
	return h.writer.Up() && (h.election == nil || h.election.Held() != nil)
}

func (h *history) retainOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, retainTimeout)
	defer cancel()
	changes, err := h.catalog.Retain(ctx, h.retention)
	for _, c := range changes {
		level.Info(h.logger).Log("msg", "the retention of a table is changed; rows expire in the background", "table", c.Table, "change", c)
	}
	return err
}
