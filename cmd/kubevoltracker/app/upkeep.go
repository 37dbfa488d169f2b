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
	// rollUpEvery is how often the days that are over are looked for. Nothing happens while none is.
	rollUpEvery = 10 * time.Minute
	// upkeepRetry is the pause after a failed attempt.
	upkeepRetry = 10 * time.Minute
	// upkeepTimeout bounds an attempt: the first retention merges all parts of the large tables, and the first sums are of all days.
	upkeepTimeout = 6 * time.Hour
)

// upkeep calls a function once the catalog is migrated, and then again and again. Of several trackers the leader does so. A
// failure is logged and does not end the tracker: nothing is lost by it.
func (h *history) upkeep(problem string, every time.Duration, do func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		for {
			wait := time.Second
			if h.mayWrite() {
				wait = every
				once, cancel := context.WithTimeout(ctx, upkeepTimeout)
				if err := do(once); err != nil && ctx.Err() == nil {
					level.Error(h.logger).Log("msg", problem, "err", err)
					wait = upkeepRetry
				}
				cancel()
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(wait):
			}
		}
	}
}

// mayWrite reports whether the catalog answers, and whether this tracker is the one that writes it.
func (h *history) mayWrite() bool {
	return h.writer.Up() && (h.election == nil || h.election.Held() != nil)
}

func (h *history) retain(ctx context.Context) error {
	changes, err := h.catalog.Retain(ctx, h.retention)
	for _, c := range changes {
		level.Info(h.logger).Log("msg", "the retention of a table is changed; rows expire in the background", "table", c.Table, "change", c)
	}
	return err
}

func (h *history) rollUp(ctx context.Context) error {
	began := time.Now()
	days, err := h.catalog.RollUp(ctx, h.cluster)
	if days > 0 {
		level.Info(h.logger).Log("msg", "summed up days that are over", "days", days, "took", time.Since(began).Round(time.Millisecond))
	}
	return err
}
