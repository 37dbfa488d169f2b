package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// uses returns the mounts in a window that a report looks at; of one volume, if it is named.
func (h *history) uses(w window, f filters, volume string) (list []mount) {
	for _, m := range h.models {
		had := m.hadVolumes(volume)
		for _, u := range m.mounts() {
			if w.overlaps(u.started(), u.ended().at) && f.takesUse(u) && (volume == "" || slices.Contains(had, u.volume())) {
				list = append(list, u)
			}
		}
	}
	return list
}

// grouped adds up mounts by a key.
func grouped(uses []mount, key func(mount) string) [][]mount {
	groups, order := map[string][]mount{}, []string{}
	for _, u := range uses {
		k := key(u)
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], u)
	}
	var list [][]mount
	for _, k := range order {
		list = append(list, groups[k])
	}
	return list
}

// distinct returns the values of some mounts, sorted, each once.
func distinct(uses []mount, value func(mount) string) []string {
	list := []string{}
	for _, u := range uses {
		list = append(list, value(u))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func workloadsOf(uses []mount) []string {
	return distinct(uses, func(u mount) string { return u.pod.workloadName() })
}

func podsOf(uses []mount) int { return len(distinct(uses, func(u mount) string { return u.pod.uid })) }

// spanned returns the first start and the last end of some mounts; no end if one of them lasts.
func spanned(uses []mount) (since, until fact.Time) {
	var began, ended []fact.Time
	for _, u := range uses {
		began, ended = append(began, u.started()), append(ended, u.ended().at)
	}
	return lifeOf(began, ended)
}

func users(h *history, flags map[string]string) (rows []row) {
	name := h.volumeName()
	flags["volume"] = name
	f := h.choose(flags, "namespace", "owner", "group", "storageclass", "workload")
	w := h.window(flags, atNow, true)
	for _, g := range grouped(h.uses(w, f, name), func(u mount) string {
		return fmt.Sprintf("%q", []any{u.m.cluster, u.volume().uid, u.pod.namespace, u.owner(), u.groups()})
	}) {
		u := g[0]
		since, until := spanned(g)
		rows = append(rows, row{
			"cluster": u.m.cluster, "persistentvolume": u.volume().name, "namespace": u.pod.namespace, "owner": u.owner(), "groups": u.groups(),
			"workloads": workloadsOf(g), "pods": podsOf(g), "used_since": since, "used_until": until,
		})
	}
	return rows
}

// sourceKey tells backing stores apart.
func (m mount) sourceKey() string { return fmt.Sprintf("%q", m.source()) }

// inlineKey tells the backing stores of a pod apart that it names itself: each emptyDir is its own.
func (m mount) inlineKey() string {
	if m.store.source.kind == "emptyDir" {
		return m.sourceKey() + m.store.name
	}
	return m.sourceKey()
}

func claimUID(u mount) string {
	if u.store.claim == nil {
		return ""
	}
	return u.store.claim.uid
}

func volumeUID(u mount) string {
	if u.volume() == nil {
		return ""
	}
	return u.volume().uid
}

func used(h *history, flags map[string]string) (rows []row) {
	f := h.choose(flags, "namespace", "owner", "group", "storageclass", "workload")
	w := h.window(flags, pastMonth, true)
	for _, g := range grouped(h.uses(w, f, ""), func(u mount) string {
		return fmt.Sprintf("%q", []any{u.m.cluster, u.pod.namespace, u.owner(), u.groups(), claimUID(u), volumeUID(u), u.sourceKey()})
	}) {
		u := g[0]
		since, until := spanned(g)
		rows = append(rows, row{
			"cluster": u.m.cluster, "namespace": u.pod.namespace, "owner": u.owner(), "groups": u.groups(), "claim": u.store.claimName,
			"persistentvolume": u.volumeName(), "storage_class": u.class(), "source": u.source().kind, "backend": u.source().backend(),
			"workloads": workloadsOf(g), "pods": podsOf(g), "used_since": since, "used_until": until,
		})
	}
	return rows
}

// row is what the report mounts and the views of mounts have in common.
func (m mount) row() row {
	return row{
		"cluster": m.m.cluster, "namespace": m.pod.namespace, "pod": m.pod.name, "container": m.container.name, "kind": m.container.kind,
		"volume": m.store.name, "mount_path": m.point.path, "read_only": m.point.readOnly, "claim": m.store.claimName,
		"persistentvolume": m.volumeName(), "source": m.source().kind, "backend": m.source().backend(), "started_at": m.started(),
	}
}

func mounts(h *history, flags map[string]string) (rows []row) {
	f := h.choose(flags, "namespace", "owner", "group", "storageclass", "workload")
	w := h.window(flags, always, true)
	running, ended := false, false
	switch h.rnd.IntN(4) {
	case 0:
		flags["running"], running = "true", true
	case 1:
		flags["ended"], ended = "true", true
	}
	for _, u := range h.uses(w, f, h.volumeOrAll(flags)) {
		lasts := u.ended().at == 0
		if running && !lasts || ended && lasts {
			continue
		}
		r := u.row()
		r["workload"], r["ended_at"], r["ended_not_before"], r["end_reason"] = u.pod.workloadName(), u.ended().at, u.ended().unsure(), u.container.seen.reason
		rows = append(rows, r)
	}
	return rows
}

func useHours(h *history, flags map[string]string) []row {
	name := h.volumeOrAll(flags)
	f := h.choose(flags, "namespace", "owner", "group", "storageclass", "workload")
	return h.useHours(f, name, h.window(flags, pastMonth, false))
}

// volumeOrAll adds the flag of a volume, half of the time, and returns what it names.
func (h *history) volumeOrAll(flags map[string]string) (name string) {
	if h.rnd.IntN(2) == 0 {
		name = h.volumeName()
		flags["volume"] = name
	}
	return name
}

// useHours answers use-hours for a window.
func (h *history) useHours(f filters, volume string, w window) (rows []row) {
	w.until = min(w.until, now())
	clip := func(u mount) (began, ended fact.Time) {
		if ended = u.ended().at; ended == 0 {
			ended = w.until
		}
		return max(u.started(), w.since), min(ended, w.until)
	}
	uses := slices.DeleteFunc(h.uses(w, f, volume), func(u mount) bool {
		began, ended := clip(u)
		instant := u.started() == u.ended().at && u.started() >= w.since && u.started() < w.until
		return u.store.claim == nil || began >= ended && !instant
	})
	for _, g := range grouped(uses, func(u mount) string {
		return fmt.Sprintf("%q", []any{u.m.cluster, u.store.claim.uid, volumeUID(u), u.pod.workloadName(), u.owner(), u.groups()})
	}) {
		slices.SortFunc(g, func(a, b mount) int { return cmp.Compare(a.started(), b.started()) })
		u := g[0]
		first, _ := clip(u)
		sum, reached, last := fact.Time(0), first, first
		for _, u := range g {
			began, ended := clip(u)
			sum += max(0, ended-max(began, reached))
			reached, last = max(reached, ended), max(last, began, ended-1)
		}
		day := func(t fact.Time) string { return t.Time().UTC().Format(time.DateOnly) }
		rows = append(rows, row{
			"cluster": u.m.cluster, "namespace": u.pod.namespace, "claim": u.store.claimName, "persistentvolume": u.volumeName(), "storage_class": u.class(),
			"workload": u.pod.workloadName(), "owner": u.owner(), "groups": u.groups(), "pods": podsOf(g), "used_seconds": int64(sum / second),
			"first_day": day(first), "last_day": day(last),
		})
	}
	return rows
}
