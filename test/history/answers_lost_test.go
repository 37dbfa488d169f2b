package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// lastUse adds to a row who used a volume last.
func (m *model) lastUse(v *volume, r row) (last *mount) {
	r["last_pod"], r["last_workload"] = "", ""
	if v == nil {
		return nil
	}
	inUse, last := m.use(v)
	if inUse || last == nil {
		return nil
	}
	r["last_pod"], r["last_workload"] = last.pod.name, workloadOf(last.pod)
	return last
}

// place is a backing store; that of a node's path is one of its cluster, whether local or hostPath names it.
type place struct {
	cluster string
	source  source
}

func (m *model) placeOf(s source) place {
	if s.onNode() {
		s.kind = "hostPath"
		return place{m.cluster, s}
	}
	return place{source: s}
}

// owned is a volume with its model, as it was known at a moment.
type owned struct {
	m      *model
	v      *volume
	goneAt fact.Time
}

// lastOwners returns which volume of all clusters had each backing store last, as of a moment.
func (h *history) lastOwners(at fact.Time) map[place]owned {
	last := map[place]owned{}
	for _, m := range h.models {
		for _, v := range m.volumes {
			if !v.known || v.created > at {
				continue
			}
			o, p := owned{m, v, v.gone.at}, m.placeOf(v.source)
			if o.goneAt == 0 || o.goneAt > at {
				o.goneAt = endOfTime()
			}
			was := last[p]
			if was.v == nil || cmp.Or(cmp.Compare(o.goneAt, was.goneAt), cmp.Compare(b2i(v.policy != "Retain"), b2i(was.v.policy != "Retain")),
				cmp.Compare(m.cluster, was.m.cluster), cmp.Compare(v.uid, was.v.uid)) > 0 {
				last[p] = o
			}
		}
	}
	return last
}

// inlineUses returns until when pods that name backing stores themselves used each, of those that had begun at a moment.
func (h *history) inlineUses(at fact.Time) map[place]fact.Time {
	until := map[place]fact.Time{}
	for _, u := range h.uses(window{0, at}, filters{}, "") {
		if u.store.claim == nil {
			p := u.m.placeOf(u.source())
			until[p] = max(until[p], cmp.Or(u.ended().at, endOfTime()))
		}
	}
	return until
}

// leftBehind finds deleted volumes whose backing store was kept, and that no volume and no pod has used since.
func leftBehind(h *history, flags map[string]string) (rows []row) {
	f := h.choose(flags, "namespace", "owner", "group", "storageclass")
	at := h.pointInTime(flags).until
	inline := h.inlineUses(at)
	for p, o := range h.lastOwners(at) {
		m, v := o.m, o.v
		if v.policy != "Retain" || o.goneAt == endOfTime() || inline[p] > v.gone.at {
			continue
		}
		c := v.claim
		if c == nil {
			c = &claim{}
		}
		r := row{
			"cluster": m.cluster, "persistentvolume": v.name, "source": v.source.kind, "backend": v.source.backend(), "capacity_bytes": v.size,
			"storage_class": v.class, "namespace": c.namespace, "claim": c.name, "owner": c.owner, "groups": c.groups, "last_used_at": nil, "deleted_at": v.gone.at,
			"deleted_not_before": v.gone.unsure(),
		}
		if u := m.lastUse(v, r); u != nil {
			r["last_used_at"] = u.ended().at
		}
		if f.takes(m, c.namespace, c.owner, c.groups, v.class) {
			rows = append(rows, r)
		}
	}
	return rows
}

// nextStep is what the report orphans advises.
var nextStep = map[string]string{
	"Released, Retain":     "keep a copy of the data if needed; then delete it, and its backing store by hand, or clear its claimRef to use it again",
	"Available, was bound": "delete it, or bind a claim to it",
	"Lost":                 "delete it, or restore its volume",
	"scaled down":          "delete it if the workload will not grow again",
	"no pods":              "delete it if its workload will not come back and nobody needs the data",
	"not mounted":          "see whether a pod waits for it; delete it if nobody needs it",
	"never mounted":        "see whether a pod waits for it; delete it if nobody needs it",
}

func orphans(h *history, flags map[string]string) (rows []row) {
	f := h.choose(flags, "namespace", "owner", "group", "storageclass")
	age := 30 * 86400 * second
	if h.rnd.IntN(3) > 0 {
		days := h.rnd.Int64N(20)
		flags["min-age"] = fmt.Sprint(days, "d")
		age = fact.Time(days) * 86400 * second
	}
	for _, m := range h.models {
		add := func(r row, c *claim, class string, v *volume, since fact.Time) {
			class = cmp.Or(class, c.class)
			r["cluster"], r["orphaned_since"], r["orphaned_seconds"], r["next_step"] = m.cluster, since, lasted(since, 0), nextStep[r["reason"].(string)]
			r["keep_until"], r["keep_reason"] = nil, "" // the world has no such annotation
			r["namespace"], r["claim"], r["owner"], r["groups"], r["storage_class"] = c.namespace, c.name, c.owner, c.groups, class
			m.lastUse(v, r)
			if f.takes(m, c.namespace, c.owner, c.groups, class) {
				rows = append(rows, r)
			}
		}
		for _, v := range m.volumes {
			if reason, of := m.orphanedVolume(v, age); reason != "" {
				add(row{"kind": "PersistentVolume", "name": v.name, "capacity_bytes": v.size, "reason": reason}, of, v.class, v, v.phaseAt)
			}
		}
		for _, c := range m.claims {
			if !c.known || c.gone.at != 0 || c.pod != nil {
				continue
			}
			if reason, since := m.orphaned(c); reason != "" && (reason == "Lost" || since <= now()-age) {
				size := cmp.Or(c.capacity, c.requested)
				add(row{"kind": "PersistentVolumeClaim", "name": c.name, "capacity_bytes": size, "reason": reason}, c, c.class, c.volume, since)
			}
		}
	}
	return rows
}

// orphanedVolume returns why nobody uses a volume, and the claim that had it last; no reason if somebody can.
func (m *model) orphanedVolume(v *volume, age fact.Time) (reason string, of *claim) {
	if !v.known || v.gone.at != 0 {
		return "", nil
	}
	switch last := m.lastBinding(v); {
	case v.phase == "Released" && v.policy == "Retain":
		return "Released, Retain", v.claim
	case v.phase == "Available" && last != nil && v.phaseAt <= now()-age:
		return "Available, was bound", last.claim
	}
	return "", nil
}

func (m *model) lastBinding(v *volume) (last *binding) {
	for _, b := range m.bindings {
		if b.known && b.volume == v && (last == nil || b.bound > last.bound) {
			last = b
		}
	}
	return last
}

// orphaned returns why nobody uses a claim, and since when; no reason if somebody does, or if it is usual.
func (m *model) orphaned(c *claim) (reason string, since fact.Time) {
	inUse, last := m.claimUse(c)
	switch {
	case c.phase == "Lost":
		return "Lost", c.lostAt
	case inUse, c.volume != nil && m.awaited(c.volume):
		return "", 0
	}
	kind, workload, unseen := c.kind, c.workload, m.unseenUse(c)
	if since = max(c.created, unseen); last != nil {
		since = max(since, last.ended().at)
		if workload == "" {
			kind, workload = last.pod.kind, last.pod.workload
		}
	}
	living := m.living(c.namespace, kind, workload)
	ownPod := func(p *pod) bool { return strings.HasSuffix(c.name, "-"+p.name) } // it may wait for the claim
	switch {
	case kind == "StatefulSet" && slices.ContainsFunc(living, ownPod):
		return "", 0
	case last == nil && unseen <= max(c.created, m.firstBound(c))+slack:
		return "never mounted", since
	case workload == "":
		return "not mounted", since
	case len(living) == 0:
		return "no pods", since
	case kind == "StatefulSet":
		return "scaled down", since
	}
	return "", 0
}

// claimUse returns whether a claim is in use, else its last use.
func (m *model) claimUse(c *claim) (inUse bool, last *mount) {
	for _, u := range m.mounts() {
		switch {
		case u.store.claim != c:
		case u.ended().at == 0:
			inUse = true
		case last == nil || later(u, *last):
			last = &u
		}
	}
	return inUse, last
}

// unseenUse returns since when no pod refers to a claim, or since a use that a former condition Unused showed. A pod that
// never started sets the condition, too: the report cannot tell.
func (m *model) unseenUse(c *claim) (at fact.Time) {
	if at = c.seenUnused; c.volume != nil {
		at = max(at, m.shownUnseen(c.volume))
	}
	return at
}

// living returns the pods of a workload that are not over.
func (m *model) living(namespace, kind, workload string) (list []*pod) {
	for _, p := range m.pods {
		over := p.gone.at != 0 || p.finished() != 0 || p.phase == "Succeeded" || p.phase == "Failed"
		if workload != "" && p.known && !over && p.namespace == namespace && p.kind == kind && p.workload == workload {
			list = append(list, p)
		}
	}
	return list
}

// shownUnseen returns the end of the last use of a volume if only a former condition Unused showed it.
func (m *model) shownUnseen(v *volume) fact.Time {
	if since, _ := m.idleSince(v, m.lastOf(v)); since == v.unseen {
		return v.unseen
	}
	return 0
}

// lastOf returns the last use of a volume that is over.
func (m *model) lastOf(v *volume) *mount {
	_, last := m.use(v)
	return last
}

// firstBound returns when a claim got its volume first; 0 if it has none.
func (m *model) firstBound(c *claim) (at fact.Time) {
	for _, b := range m.bindings {
		if b.known && b.claim == c && b.volume == c.volume && (at == 0 || b.bound < at) {
			at = b.bound
		}
	}
	return at
}
