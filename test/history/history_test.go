package history

import (
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// history is the made-up history of some clusters, in one catalog.
type history struct {
	seed    uint64
	rnd     *rand.Rand
	models  []*model
	catalog *catalog.Catalog
	moments []fact.Time    // at which something happened
	asked   map[string]int // how often each report was asked
	rows    map[string]int // how many rows the model had for it
	subject mount          // that most flags of a question name, so that its answer is not empty
}

// steps is how many things happen in each cluster.
const steps = 420

// seed returns the seed of HISTORY_SEED, or the one that every test run has.
func seed(t *testing.T) uint64 {
	text := os.Getenv("HISTORY_SEED")
	if text == "" {
		return 1
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("HISTORY_SEED: %v", err)
	}
	return n
}

func makeHistory(t *testing.T) *history {
	h := &history{seed: seed(t), asked: map[string]int{}, rows: map[string]int{}}
	h.rnd = rand.New(rand.NewPCG(h.seed, 0))
	h.catalog = catalogtest.OpenMigrated(t, address)
	for i, cluster := range []string{"east", `o'"\` + "\t日本", "west"} {
		k := newTracker(t, cluster)
		w := newWorld(cluster, rand.New(rand.NewPCG(h.seed, uint64(i+1))), k)
		w.saysUnused, w.old = i == 1, i == 2
		if w.old {
			w.hidden = []fact.Kind{fact.VolumeAttachments}
		}
		w.play(steps)
		k.finish(h.catalog, w.spans, w.hidden)
		h.models = append(h.models, &w.model)
	}
	if err := catalogtest.CheckSums(t, h.catalog); err != nil {
		t.Error(err)
	}
	for _, m := range h.models {
		t.Logf("%q: %d volumes, %d claims, %d pods, %d mounts, %d bindings, %d resizes, %d spans", m.cluster, len(m.volumes), len(m.claims), len(m.pods),
			len(m.mounts()), len(m.bindings), len(m.resizes), len(m.spans))
	}
	h.findMoments()
	return h
}

// findMoments collects when something happened: a report that is asked then shows which ends of an interval it counts.
func (h *history) findMoments() {
	moments := map[fact.Time]bool{}
	for _, m := range h.models {
		for _, u := range m.mounts() {
			moments[u.started()], moments[u.ended().at], moments[u.pod.created] = true, true, true
		}
		for _, v := range m.volumes {
			moments[v.created], moments[v.gone.at], moments[v.phaseAt] = true, true, true
		}
		for _, c := range m.claims {
			moments[c.created], moments[c.gone.at], moments[c.bound] = true, true, true
		}
		for _, s := range m.spans {
			moments[s[0]], moments[s[1]] = true, true
		}
	}
	h.moments = slices.Sorted(maps.Keys(moments))
	for len(h.moments) > 0 && h.moments[0] == 0 {
		h.moments = h.moments[1:]
	}
}

// moment is a random one, or one at which something happened; not in the future, where a node's clock that is ahead can be.
func (h *history) moment() fact.Time { return min(h.anyMoment(), now()) }

func (h *history) anyMoment() fact.Time {
	const day = 86400 * second
	at := now() - fact.Time(h.rnd.Int64N(62*86400))*second
	switch u := h.subject; h.rnd.IntN(5) {
	case 0:
		return u.started()
	case 1:
		if u.ended().at != 0 {
			return u.ended().at - fact.Time(h.rnd.IntN(2))*second
		}
	case 2:
		return h.moments[h.rnd.IntN(len(h.moments))]
	case 3:
		return at - at%day // as a date is asked for
	}
	return at
}

// The times that a report looks at without flags, as in its documentation.
const (
	atNow = iota
	always
	pastMonth
	pastFortnight
	pastDay
)

// endOfTime is until when a report looks that names no end.
func endOfTime() fact.Time { return fact.At(time.Date(2299, 12, 31, 23, 59, 59, 0, time.UTC)) }

// window chooses time flags: none, a moment if at says so, or a window.
func (h *history) window(flags map[string]string, usual int, at bool) window {
	text := func(t fact.Time) string { return t.Time().Format(time.RFC3339Nano) }
	kind := h.rnd.IntN(5)
	if kind == 4 && !at {
		kind = 3
	}
	a, b := h.moment(), h.moment()
	if a > b {
		a, b = b, a
	}
	const day = 86400 * second
	span := map[int]fact.Time{pastMonth: 30 * day, pastFortnight: 14 * day, pastDay: day}[usual]
	switch kind {
	case 4:
		flags["at"] = text(a)
		return window{a, a}
	case 3:
		flags["since"], flags["until"] = text(a), text(b)
		return window{a, b}
	case 2:
		flags["since"] = text(a)
		return window{a, endOfTime()}
	case 1:
		flags["until"] = text(b)
		if span != 0 {
			return window{b - span, b}
		}
		return window{0, b}
	}
	switch usual {
	case always:
		return window{0, endOfTime()}
	case pastMonth, pastFortnight, pastDay:
		return window{now() - span, endOfTime()}
	}
	return window{endOfTime(), endOfTime()}
}

// pointInTime chooses a moment, or none, which is now.
func (h *history) pointInTime(flags map[string]string) window {
	if h.rnd.IntN(4) == 0 {
		return window{endOfTime(), endOfTime()}
	}
	at := h.moment()
	flags["at"] = at.Time().Format(time.RFC3339Nano)
	return window{at, at}
}

// choose chooses some of the flags that choose rows, with values that occur.
func (h *history) choose(flags map[string]string, names ...string) filters {
	u := h.subject
	if h.rnd.IntN(4) == 0 {
		u = h.randomMount()
	}
	var f filters
	for _, name := range append(names, "cluster") {
		if h.rnd.IntN(7) > 0 {
			continue
		}
		var value string
		switch name {
		case "cluster":
			value = u.m.cluster
			f.cluster = value
		case "namespace":
			value = u.pod.namespace
			f.namespace = value
		case "owner":
			value = u.owner()
			f.owner = value
		case "group":
			if groups := u.groups(); len(groups) > 0 {
				value = groups[h.rnd.IntN(len(groups))]
			}
			f.group = value
		case "storageclass":
			value = u.class()
			f.class = value
		case "workload":
			value = []string{u.pod.workloadName(), u.pod.workload, u.pod.name}[h.rnd.IntN(3)]
			f.workload = value
		}
		flags[name] = value
	}
	return f
}

// randomMount returns one of all mounts.
func (h *history) randomMount() mount {
	list := h.models[h.rnd.IntN(len(h.models))].mounts()
	return list[h.rnd.IntN(len(list))]
}

// volumeName names a volume in one of the ways that a report takes.
func (h *history) volumeName() string {
	m := h.models[h.rnd.IntN(len(h.models))]
	v, c := m.volumes[h.rnd.IntN(len(m.volumes))], m.claims[h.rnd.IntN(len(m.claims))]
	if u := h.subject; u.volume() != nil && h.rnd.IntN(5) > 0 {
		v, c = u.volume(), u.store.claim
	}
	return []string{v.name, v.uid, v.source.path, c.namespace + "/" + c.name, c.namespace + "/" + c.name}[h.rnd.IntN(5)]
}

// TestReportsAgreeWithTheModel asks each report questions whose answers the model knows.
func TestReportsAgreeWithTheModel(t *testing.T) {
	h := makeHistory(t)
	for _, report := range reports() {
		t.Run(report.name, func(t *testing.T) {
			for n := 0; n < report.asked || h.rows[report.name] == 0 && n < 5*report.asked; n++ {
				flags := map[string]string{}
				h.subject = h.randomMount()
				want := report.answer(h, flags)
				h.compare(t, report.name, flags, want)
			}
			if h.rows[report.name] == 0 {
				t.Error("no question has an answer")
			}
			t.Logf("%d questions with %d rows", h.asked[report.name], h.rows[report.name])
		})
	}
	h.compareViews(t)
}

// question is a report with its answer, whose flags it chooses.
type question struct {
	name   string
	asked  int // how often; fewer where ClickHouse takes long to plan the report
	answer func(h *history, flags map[string]string) []row
}

func reports() []question {
	return []question{
		{"idle", 10, idle}, {"space", 14, space}, {"users", 10, users}, {"mounts", 8, mounts}, {"history", 6, used}, {"use-hours", 8, useHours},
		{"apps", 10, apps}, {"pods-per-volume", 6, podsPerVolume}, {"volumes-per-pod", 6, volumesPerPod}, {"ephemeral", 8, ephemeral}, {"bindings", 8, bindings},
		{"counts", 16, counts}, {"coverage", 8, coverage}, {"resizes", 8, resizes}, {"creation-rate", 8, creationRate}, {"lifetimes", 8, lifetimes},
		{"rightsize", 8, rightsize}, {"filling", 14, filling}, {"static", 10, static}, {"capacity", 8, capacities}, {"find", 16, find},
		{"never-mounted", 10, neverMounted}, {"at", 6, at}, {"diff", 5, diff}, {"left-behind", 8, leftBehind}, {"orphans", 6, orphans},
		{"volume", 5, volumeLife}, {"claim", 5, claimLife}, {"pod", 5, podLife}, {"workload", 5, workloadLife}, {"app-changes", 4, appChanges},
		{"stranded", 12, stranded}, {"blocked", 8, blocked}, {"same-store", 4, sameStore},
	}
}
