package exporter

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// idleVolume is a volume that nobody has used for d.
func idleVolume(d time.Duration) fact.VolumeState {
	v := testVolume()
	v.Status, v.Mounts, v.IdleSince = fact.VolumeIdle, 0, ago(d)
	return v
}

// watchedAgo is a span that began and ended so long ago.
func watchedAgo(from, to time.Duration) fact.Span { return fact.Span{From: ago(from), To: ago(to)} }

// podsAt is the position of Pods as of d ago.
func podsAt(d time.Duration) []fact.Position {
	return []fact.Position{{Kind: fact.Claims, At: testNow}, {Kind: fact.Pods, At: ago(d)}}
}

// idleTimes returns the two idle times of the volumes, in seconds, as they are scraped.
func idleTimes(t *testing.T, e *Exporter) (times string) {
	t.Helper()
	for line := range strings.Lines(samples(t, e, "kubevoltracker_volume_idle_")) {
		name, rest, _ := strings.Cut(line, "{")
		times += fmt.Sprintln(strings.TrimPrefix(name, "kubevoltracker_volume_"), rest[strings.LastIndexByte(rest, ' ')+1:len(rest)-1])
	}
	return times
}

func TestIdleTimeThatWasWatched(t *testing.T) {
	const day = 24 * time.Hour
	gap := []fact.Span{watchedAgo(50*day, 20*day), watchedAgo(10*day, time.Hour)}
	for name, test := range map[string]struct {
		volume fact.VolumeState
		unused fact.Time
		spans  []fact.Span
		moved  []fact.Position
		want   time.Duration
	}{
		"a year-old volume on the tracker's first day":        {volume: idleVolume(365 * day), spans: []fact.Span{watchedAgo(day, 0)}, want: day},
		"watched for all of its idle time":                    {volume: idleVolume(41 * day), spans: []fact.Span{watchedAgo(50*day, 0)}, want: 41 * day},
		"a gap is left out":                                   {volume: idleVolume(41 * day), spans: gap, want: 31*day - time.Hour},
		"idle since the gap":                                  {volume: idleVolume(15 * day), spans: gap, want: 10*day - time.Hour},
		"idle since after the gap":                            {volume: idleVolume(5 * day), spans: gap, want: 5*day - time.Hour},
		"idle since the last span began":                      {volume: idleVolume(10 * day), spans: gap, want: 10*day - time.Hour},
		"idle since before all spans":                         {volume: idleVolume(365 * day), spans: gap, want: 40*day - time.Hour},
		"the last span goes on with the position of Pods":     {volume: idleVolume(5 * day), spans: gap, moved: podsAt(time.Minute), want: 5*day - time.Minute},
		"a position before the end of the span":               {volume: idleVolume(5 * day), spans: gap, moved: podsAt(day), want: 5*day - time.Hour},
		"a position ahead of this clock":                      {volume: idleVolume(5 * day), spans: gap, moved: podsAt(-day), want: 5 * day},
		"idle since after the last watch":                     {volume: idleVolume(time.Minute), spans: gap, want: 0},
		"vouched for since the gap":                           {volume: idleVolume(41 * day), unused: ago(15 * day), spans: gap, want: 21*day + 15*day - time.Hour},
		"vouched for since before it was idle":                {volume: idleVolume(41 * day), unused: ago(60 * day), spans: gap, want: 41*day - time.Hour},
		"vouched for from before the first tracker":           {volume: idleVolume(365 * day), unused: ago(300 * day), spans: []fact.Span{watchedAgo(day, 0)}, want: 300 * day},
		"vouched for by a clock that is ahead":                {volume: idleVolume(5 * day), unused: ago(-day), spans: gap, want: 5*day - time.Hour},
		"in use, and vouched for before":                      {volume: testVolume(), unused: ago(day), spans: gap, want: 0},
		"nobody has watched":                                  {volume: idleVolume(41 * day), unused: ago(day), moved: podsAt(0), want: 0},
		"a clock that was set back to before the last span":   {volume: idleVolume(41 * day), spans: []fact.Span{watchedAgo(50*day, 40*day), watchedAgo(-day, -2*day)}, want: day},
		"idle since a moment that this clock has not reached": {volume: idleVolume(-time.Hour), spans: []fact.Span{watchedAgo(day, -2*time.Hour)}, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			e := newTestExporter()
			v := test.volume
			v.UnusedSince = test.unused
			e.Apply(&fact.Update{Volumes: []fact.VolumeState{v}, Watched: test.spans})
			e.Apply(&fact.Update{Positions: test.moved})
			want := fmt.Sprintln("idle_observed_seconds", int64(test.want.Seconds())) +
				fmt.Sprintln("idle_seconds", secondsSince(v.IdleSince, testNow))
			wantText(t, idleTimes(t, e), want)
		})
	}
}

// A new list of spans takes the place of the one before, also for volumes that do not change.
func TestWatchedSpansAreReplaced(t *testing.T) {
	e := newTestExporter()
	e.Apply(&fact.Update{Volumes: []fact.VolumeState{idleVolume(time.Hour)}, Watched: []fact.Span{watchedAgo(time.Minute, 0)}})
	wantText(t, idleTimes(t, e), "idle_observed_seconds 60\nidle_seconds 3600\n")
	e.Apply(&fact.Update{Watched: []fact.Span{watchedAgo(2*time.Hour, 30*time.Minute), watchedAgo(time.Minute, 0)}})
	wantText(t, idleTimes(t, e), "idle_observed_seconds 1860\nidle_seconds 3600\n")
	e.Apply(&fact.Update{Watched: []fact.Span{}})
	wantText(t, idleTimes(t, e), "idle_observed_seconds 0\nidle_seconds 3600\n")
}

func TestIdleTimesGrowWithTheClock(t *testing.T) {
	now := testNow
	e := New(Options{Registry: prometheus.NewRegistry(), PerVolume: true, Now: func() time.Time { return now.Time() }})
	e.Apply(&fact.Update{Volumes: []fact.VolumeState{idleVolume(time.Hour)}, Watched: []fact.Span{watchedAgo(time.Minute, 0)}})
	now += 30e6
	wantText(t, idleTimes(t, e), "idle_observed_seconds 60\nidle_seconds 3630\n") // nobody says that it was watched meanwhile
	e.Apply(&fact.Update{Positions: []fact.Position{{Kind: fact.Pods, At: now - 10e6}}})
	wantText(t, idleTimes(t, e), "idle_observed_seconds 80\nidle_seconds 3630\n")
}

// Whatever the spans and times are, the answer is what counting each second gives, and never
// more than the idle time.
func TestIdleObservedIsWhatCountingGives(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		var spans []fact.Span
		for at := fact.Time(1 + rnd.Int64N(5)); len(spans) < rnd.IntN(6); at += 1 + fact.Time(rnd.Int64N(9)) {
			from := at
			at += fact.Time(rnd.Int64N(20))
			spans = append(spans, fact.Span{From: from * 1e6, To: at * 1e6})
		}
		var w watched
		w.apply(&fact.Update{Watched: spans})
		now := fact.Time(rnd.Int64N(100)) * 1e6
		r := &row{since: fact.Time(rnd.Int64N(100)) * 1e6, unused: fact.Time(rnd.Int64N(100)) * 1e6 * fact.Time(rnd.Int64N(2))}
		want, end := int64(0), min(w.end, now)
		for second := r.since; r.since != 0 && second < end; second += 1e6 {
			seen := r.unused != 0 && second >= r.unused
			for _, s := range spans {
				seen = seen || second >= s.From && second < s.To
			}
			if seen {
				want++
			}
		}
		at := instantOf(now, w)
		if got := at.idleObserved(r); got != want || got > at.idle(r) {
			t.Fatalf("%d s of %d s were watched, want %d: spans %v, now %v, idle since %v, unused since %v", got, at.idle(r), want, spans, now, r.since, r.unused)
		}
	}
}
