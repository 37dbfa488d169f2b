package collector

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/go-kit/log/level"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// gap is an interval in which nobody read a watch. Events that the watch delivers afterwards may have happened at any time in
// it. The collector's lock guards the gap.
type gap struct {
	from     fact.Time // zero on a live watch
	to       uint64    // the last version in the gap; notKnownYet, or zero if the API server did not say
	requests int       // how often to has been requested; an answer to an earlier request is void
}

// notKnownYet is the end of a gap until the API server has answered: every version is in the gap.
const notKnownYet = math.MaxUint64

func (g *gap) isOpen() bool { return g.from != 0 }

// open opens the gap. A gap that is already open keeps its own beginning, if that is earlier.
func (g *gap) open(from fact.Time) {
	if !g.isOpen() || from < g.from {
		g.from = from
	}
	g.to = notKnownYet
	g.requests++
}

// close notes that the watch is live.
func (g *gap) close() {
	g.from, g.to = 0, 0
	g.requests++
}

// endsBefore reports whether the gap ends before a version that arrives after a silence. Where the API server did not say at
// which version the gap ends, a silence of liveAfter ends it.
func (g *gap) endsBefore(version uint64, silence fact.Time) bool {
	if g.to == 0 {
		return silence > liveAfter
	}
	return version > g.to
}

// notBefore returns the earliest moment at which an event can have happened that is observed now, if all events until lastSeen
// were observed before. If lastSeen is after now, the clock has been set back since. No heartbeat notices a step of pausedAfter
// or less: then lastSeen was earlier by that much at most. A larger step came between two runs, and notBefore returns 0, which
// is unknown.
func notBefore(lastSeen, now fact.Time) fact.Time {
	const unnoticed = fact.Time(pausedAfter / time.Microsecond)
	switch {
	case lastSeen <= now:
		return lastSeen
	case lastSeen <= now+unnoticed:
		return lastSeen - unnoticed
	default:
		return 0
	}
}

// openGap notes, under the collector's lock, that coming events may have happened since from, because nobody read the watch.
// The gap ends at the version that askGapEnd requests.
func (s *store) openGap(from, now fact.Time) {
	s.gap.open(from)
	s.arrived = now
}

// askGapEnd requests, under the collector's lock, the API server's current version. All events in the gap have versions up to
// that one. The answer arrives later. A request that fails is repeated until there is an answer, or the gap is closed or
// opened again; a busy watch has no silence that would end the gap. An answer before the version at which the watch was opened ends the
// watch instead.
func (s *store) askGapEnd() {
	request := s.gap.requests
	s.begin(func() {
		_ = againAfter.DelayFunc().Until(s.ctx, true, true, func(ctx context.Context) (done bool, _ error) {
			ctx, cancel := context.WithTimeout(ctx, connectTimeout)
			defer cancel()
			version, err := s.currentVersion(ctx)
			s.collector.mu.Lock()
			defer s.collector.mu.Unlock()
			if s.gap.requests != request {
				return true, nil
			}
			if 0 < version && version < s.openedAt {
				s.endRestored(version)
				return true, nil
			}
			s.gap.to = version
			return err == nil, nil
		})
		s.awaitListRight()
	})
}

// endRestored ends the watch, under the collector's lock, so that the reflector lists: the API server is at a version before the one at
// which the watch was opened. The versions of an etcd only grow, unless it is restored from a backup. Such a watch is silent until the API
// server has passed its version, and never shows which objects the restore has removed. The gap stays open until the list.
func (s *store) endRestored(version uint64) {
	level.Warn(s.logger).Log("msg", "the API server is at an earlier version than the watch, as after a restore of etcd; listing again", "version", version, "watch", s.openedAt)
	err := apierrors.NewResourceExpired(fmt.Sprintf("the API server is at version %d, before the watch's %d", version, s.openedAt))
	s.restored <- watch.Event{Type: watch.Error, Object: &err.ErrStatus}
	s.openedAt, s.probes = 0, nil
}
