package history

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// pickFlag chooses one of some values of a flag; the first one is its default, and may be left out.
func (h *history) pickFlag(flags map[string]string, name string, values ...string) string {
	i := h.rnd.IntN(len(values))
	if i > 0 || h.rnd.IntN(2) == 0 {
		flags[name] = values[i]
	}
	return values[i]
}

// mostUsed returns the measurement with the most bytes of those that are valid in a window, the first of several; nil if there is none.
func (v *volume) mostUsed(w window) (most *sample) {
	for i := range v.samples {
		s := &v.samples[i]
		isOver := i+1 < len(v.samples) && v.samples[i+1].at <= w.since
		if s.at <= w.until && !isOver && (most == nil || s.used > most.used) {
			most = s
		}
	}
	return most
}

// advised is a size with headroom in percent, in whole GiB, and at least one.
func advised(used, headroom int64) *big.Int {
	n := new(big.Int).Mul(big.NewInt(used), big.NewInt(100+headroom))
	n.Add(n, big.NewInt(100*gib-1))
	n.Div(n, big.NewInt(100*gib))
	if n.Sign() == 0 {
		n.SetInt64(1)
	}
	return n.Mul(n, big.NewInt(gib))
}

// rightsize answers by the measurements that are valid at some time of the window.
func rightsize(h *history, flags map[string]string) (rows []row) {
	f := h.choose(flags, "namespace", "owner", "group", "storageclass", "workload")
	w := h.window(flags, always, false)
	headroom := map[string]int64{"20": 20, "0": 0, "150": 150}[h.pickFlag(flags, "headroom", "20", "0", "150")]
	for _, m := range h.models {
		for _, v := range m.volumes {
			if !v.known || v.gone.at != 0 || !f.takesVolume(m, v, w) {
				continue
			}
			most := v.mostUsed(w)
			if most == nil {
				continue
			}
			size := advised(most.used, headroom)
			r := row{
				"cluster": m.cluster, "persistentvolume": v.name, "namespace": "", "claim": "", "storage_class": v.class, "max_used_bytes": most.used,
				"max_used_at": most.at, "capacity_bytes": v.size, "requested_bytes": 0, "used_percent": tenth(100 * float64(most.used) / float64(v.size)),
				"advised_bytes": size, "spare_bytes": new(big.Int).Sub(big.NewInt(v.size), size),
			}
			if c := v.claim; c != nil && c.known {
				r["namespace"], r["claim"], r["requested_bytes"] = c.namespace, c.name, c.requested
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// tenth rounds to a tenth, as ClickHouse does.
func tenth(x float64) float64 { return math.RoundToEven(x*10) / 10 }

// nineSeconds rounds a number of days.
func nineSeconds(days float64) float64 { return math.RoundToEven(days*10000) / 10000 }

// sixDigits is what two computations of a slope have in common.
func sixDigits(n int64) string { return fmt.Sprintf("%.5e", float64(n)) }

// static answers by the measurements of volumes that are mounted at a moment.
func static(h *history, flags map[string]string) (rows []row) {
	f := h.choose(flags, "namespace", "owner", "group", "storageclass", "workload")
	w := h.pointInTime(flags)
	const day = 86400
	least := map[string]int64{"7d": 7 * day, "0s": 0, "1d": day}[h.pickFlag(flags, "min-unchanged", "7d", "0s", "1d")]
	for _, m := range h.models {
		for _, v := range m.volumes {
			last := v.lastSample(w.until)
			if last == nil {
				continue
			}
			unchanged := lasted(last.at, min(w.until, now()))
			if unchanged < least {
				continue
			}
			uses := map[string][]mount{}
			for _, u := range m.mounts() {
				if u.volume() == v && w.overlaps(u.started(), u.ended().at) && f.takesUse(u) {
					uses[u.class()] = append(uses[u.class()], u)
				}
			}
			for class, list := range uses {
				began, _ := spanned(list)
				rows = append(rows, row{
					"cluster": m.cluster, "persistentvolume": v.name, "storage_class": class, "workloads": workloadsOf(list),
					"namespaces": distinct(list, func(u mount) string { return u.pod.namespace }), "claims": distinct(list, func(u mount) string { return u.store.claimName }),
					"read_only": !slices.ContainsFunc(list, func(u mount) bool { return !u.point.readOnly }), "used_since": began, "unchanged_since": last.at,
					"unchanged_seconds": unchanged, "used_bytes": last.used, "inodes_used": last.files,
				})
			}
		}
	}
	return rows
}

// slope is the growth a second of a step function, by least squares over all of its time.
func slope(steps [][2]fact.Time, values []int64) float64 {
	from, to := steps[0][0], steps[len(steps)-1][1]
	middle := float64(from+to) / 2
	length := float64((to - from) / second)
	var sum float64
	for i, s := range steps {
		a, b := (float64(s[0])-middle)/float64(second), (float64(s[1])-middle)/float64(second)
		sum += float64(values[i]) * (b*b - a*a) / 2
	}
	return 12 / (length * length * length) * sum
}

// fit is how a volume grows in a window.
type fit struct {
	last         sample
	seconds      int64
	bytes, files float64 // a day; 0 if it does not grow
}

// fitted fits lines to what was measured of a volume until a moment; nil if there was nothing.
func (v *volume) fitted(since, until fact.Time) *fit {
	var steps [][2]fact.Time
	var used, files []int64
	var last sample
	for i, s := range v.samples {
		if s.at > until {
			break
		}
		ends := until
		if i+1 < len(v.samples) && v.samples[i+1].at <= until {
			ends = v.samples[i+1].at
		}
		if begins := max(s.at, since); ends >= begins {
			steps, used, files = append(steps, [2]fact.Time{begins, ends}), append(used, s.used), append(files, s.files)
		}
		last = s
	}
	if len(steps) == 0 || until-steps[0][0] < second {
		return nil
	}
	r := &fit{last: last, seconds: int64((until - steps[0][0]) / second)}
	grows := func(values []int64) float64 {
		if slices.Min(values) == slices.Max(values) {
			return 0
		}
		return max(0, 86400*slope(steps, values))
	}
	r.bytes, r.files = grows(used), grows(files)
	return r
}

// full is in how many days no byte or no file fits any more, and which of them it is.
func (g *fit) full() (runsOut string, days float64) {
	bytes, files := float64(measuredBytes-g.last.used)/g.bytes, float64(measuredFiles-g.last.files)/g.files
	if g.bytes > 0 && (g.files == 0 || bytes <= files) {
		return "bytes", nineSeconds(bytes)
	}
	return "inodes", nineSeconds(files)
}

// row is what the report filling says of a fit alone.
func (g *fit) row() row {
	r := row{
		"growth_per_day_bytes": nil, "used_bytes": g.last.used, "capacity_bytes": measuredBytes, "growth_per_day_inodes": nil, "inodes_used": g.last.files,
		"inodes": measuredFiles, "fitted_seconds": g.seconds,
	}
	if g.bytes > 0 {
		r["growth_per_day_bytes"] = sixDigits(int64(math.Round(g.bytes)))
	}
	if g.files > 0 {
		r["growth_per_day_inodes"] = tenth(g.files)
	}
	return r
}

func filling(h *history, flags map[string]string) (rows []row) {
	f := h.choose(flags, "namespace", "owner", "group", "storageclass", "workload")
	w := h.window(flags, pastFortnight, false)
	within := map[string]float64{"2h": 2.0 / 24, "30d": 30, "36500d": 36500}[h.pickFlag(flags, "within", "30d", "2h", "36500d", "36500d")]
	until := min(w.until, now())
	for _, m := range h.models {
		for _, v := range m.volumes {
			if !v.known || v.gone.at != 0 && v.gone.at <= until || !f.takesVolume(m, v, w) {
				continue
			}
			g := v.fitted(w.since, until)
			if g == nil || g.bytes == 0 && g.files == 0 {
				continue
			}
			runsOut, days := g.full()
			if days > within {
				continue
			}
			r := g.row()
			r["cluster"], r["persistentvolume"], r["namespace"], r["claim"], r["storage_class"] = m.cluster, v.name, "", "", v.class
			r["runs_out"], r["days_left"], r["full_at"] = runsOut, tenth(days), until+fact.Time(int64(days*86400))*second
			if c := v.claim; c != nil && c.known {
				r["namespace"], r["claim"] = c.namespace, c.name
			}
			rows = append(rows, r)
		}
	}
	return rows
}
