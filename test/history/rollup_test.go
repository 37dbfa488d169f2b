package history

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// TestReportsByRollup sums up each day of one cluster, and asks the reports that read these sums for windows: first with what the days were summed up
// from, then for whole days without it, and then for whole months without the days.
func TestReportsByRollup(t *testing.T) {
	h := makeHistory(t)
	m := h.models[1]
	first, last := m.spans[0][0].Time().Truncate(24*time.Hour), m.spans[len(m.spans)-1][1].Time().Truncate(24*time.Hour)
	days, err := h.catalog.RollUp(t.Context(), m.cluster)
	if want := int(last.Sub(first) / (24 * time.Hour)); err != nil || days != want {
		t.Fatalf("summed up %d days, %v; want %d", days, err, want)
	}
	if days, err := h.catalog.RollUp(t.Context(), m.cluster); err != nil || days != 0 {
		t.Errorf("summed up %d days again, %v", days, err)
	}
	if n := catalogtest.Rows(t, h.catalog, "SELECT count() FROM byte_seconds_daily FINAL WHERE idle_byte_seconds > 0 AND used_byte_seconds > 0")[0][0]; n == uint64(0) {
		t.Error("no day has idle and used space")
	}
	for n := range 10 {
		h.subject = h.randomMount()
		a, b := h.moment(), h.moment()
		if n%3 == 0 {
			a = 0 // 1970
		}
		h.compareSums(t, window{min(a, b), max(a, b)}, map[string]string{})
	}
	catalogtest.Rows(t, h.catalog, "TRUNCATE TABLE usage")
	catalogtest.Rows(t, h.catalog, "TRUNCATE TABLE mounts")
	const day = 86400 * second
	for range 10 {
		h.subject = h.randomMount()
		a, b := m.wholeDay(h.rnd), m.wholeDay(h.rnd)
		h.compareSums(t, window{min(a, b), max(a, b) + day}, map[string]string{"cluster": m.cluster})
	}
	whole := window{fact.At(time.Date(first.Year(), first.Month()+1, 1, 0, 0, 0, 0, time.UTC)), fact.At(time.Date(last.Year(), last.Month(), 1, 0, 0, 0, 0, time.UTC))}
	if whole.since >= whole.until {
		t.Fatalf("no whole month from %s to %s", first, last)
	}
	// A tracker was killed before a month was complete: its days count until the next one has summed it up again.
	catalogtest.Rows(t, h.catalog, "ALTER TABLE use_seconds_monthly DELETE WHERE claim_uid = '' SETTINGS mutations_sync = 1")
	h.compareUseHours(t, whole, map[string]string{"cluster": m.cluster})
	if days, err := h.catalog.RollUp(t.Context(), m.cluster); err != nil || days != 0 {
		t.Errorf("summed up %d days again, %v", days, err)
	}
	catalogtest.Rows(t, h.catalog, "TRUNCATE TABLE use_seconds_daily")
	for range 5 {
		h.compareUseHours(t, whole, map[string]string{"cluster": m.cluster})
	}
}

// wholeDay returns the beginning of a day of which all is known.
func (m *model) wholeDay(rnd *rand.Rand) fact.Time {
	const day = 86400 * second
	first, last := m.spans[0][0]/day+1, m.spans[len(m.spans)-1][1]/day
	return (first + fact.Time(rnd.Int64N(int64(last-first)))) * day
}

func (h *history) compareSums(t *testing.T, w window, flags map[string]string) {
	t.Helper()
	if w.since == w.until {
		return
	}
	flags["by"] = []string{"namespace", "storageclass", "owner", "group"}[h.rnd.IntN(4)]
	f := h.chooseIn(w, flags)
	h.compare(t, "space", flags, h.spaceThen(f, flags["by"], w))
	delete(flags, "by")
	delete(flags, "limit")
	name := h.volumeOrAll(flags)
	h.compare(t, "use-hours", flags, h.useHours(f, name, w))
}

func (h *history) compareUseHours(t *testing.T, w window, flags map[string]string) {
	t.Helper()
	f := h.chooseIn(w, flags)
	delete(flags, "limit")
	name := h.volumeOrAll(flags)
	h.compare(t, "use-hours", flags, h.useHours(f, name, w))
}

// chooseIn adds flags for a window and for what is random in it; a cluster in flags stays.
func (h *history) chooseIn(w window, flags map[string]string) filters {
	text := func(at fact.Time) string { return time.UnixMicro(int64(at)).UTC().Format(time.RFC3339Nano) } // also of 1970, which is no Time
	flags["since"], flags["until"] = text(w.since), text(w.until)
	cluster := flags["cluster"]
	f := h.choose(flags, "namespace", "owner", "group", "storageclass")
	if cluster != "" {
		f.cluster, flags["cluster"] = cluster, cluster
	}
	return f
}
