package history

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// nodeInZone is a node while it was in one zone.
type nodeInZone struct {
	node  *node
	zone  string
	until fact.Time // 0 while it lasts
}

// nodesInZones returns all nodes that are known, for each of their zones.
func (m *model) nodesInZones() (list []nodeInZone) {
	for _, n := range m.nodes {
		for i, s := range n.seen {
			end := n.deleted
			if next := m.successor(n); next != nil && (end == 0 || end > next.created) {
				end = next.created
			}
			if i+1 < len(n.seen) {
				end = n.seen[i+1].at
			}
			list = append(list, nodeInZone{n, s.zone, end})
		}
	}
	return list
}

// successor returns the next node of the same name, or nil.
func (m *model) successor(n *node) (next *node) {
	for _, o := range m.nodes {
		if o.seen != nil && o.name == n.name && o.created > n.created && (next == nil || o.created < next.created) {
			next = o
		}
	}
	return next
}

// nodesFor returns the nodes that can have a volume, and those that could.
func (m *model) nodesFor(v *volume) (living, gone []nodeInZone) {
	for _, s := range m.nodesInZones() {
		switch {
		case !v.meets(s.node.name, s.zone):
		case s.until == 0:
			living = append(living, s)
		default:
			gone = append(gone, s)
		}
	}
	return living, gone
}

// replaced reports whether a node has the name of one that a volume was on, and came later.
func (v *volume) replaced(s nodeInZone, gone []nodeInZone) bool {
	before := func(g nodeInZone) bool {
		return g.node.name == s.node.name && g.until > v.created && g.until <= s.node.created
	}
	named := func(r requirement) bool { return r.key == hostname && slices.Contains(r.values, s.node.name) }
	return s.node.created > v.created && slices.ContainsFunc(v.affinity, named) && slices.ContainsFunc(gone, before)
}

// strandedOn returns why no node has a volume, and the last one that had it; no reason if a node has it, or may have.
func (m *model) strandedOn(v *volume) (reason string, last nodeInZone) {
	living, gone := m.nodesFor(v)
	var newest fact.Time
	for _, s := range living {
		newest = max(newest, s.node.created)
	}
	for _, s := range gone {
		if (len(living) == 0 || s.until <= newest) && s.until >= last.until {
			last = s
		}
	}
	if len(living) == 0 {
		return "no node", last
	}
	for _, s := range living {
		if !v.replaced(s, gone) {
			return "", last
		}
	}
	if inUse, use := m.use(v); inUse || use != nil && use.ended().at > newest {
		return "", last
	}
	return "presumed: another node has the name", last
}

func (v *volume) topology() string {
	var terms []string
	for _, r := range v.affinity {
		terms = append(terms, r.key+" In "+strings.Join(r.values, ", "))
	}
	return strings.Join(terms, " or ")
}

func stranded(h *history, flags map[string]string) (rows []row) {
	f := h.choose(flags, "namespace", "owner", "group", "storageclass")
	for _, m := range h.models {
		for _, v := range m.volumes {
			if !v.known || v.gone.at != 0 || len(v.affinity) == 0 || !f.takesVolume(m, v, window{}) {
				continue
			}
			reason, last := m.strandedOn(v)
			if reason == "" {
				continue
			}
			r := row{
				"cluster": m.cluster, "persistentvolume": v.name, "reason": reason, "topology": v.topology(), "node": "", "stranded_since": nil, "stranded_seconds": nil,
				"namespace": "", "claim": "", "owner": "", "groups": nil, "storage_class": v.class, "capacity_bytes": v.size, "phase": v.phase, "last_used_at": nil,
			}
			if last.node != nil {
				since := max(last.until, v.created)
				r["node"], r["stranded_since"], r["stranded_seconds"] = last.node.name, since, lasted(since, 0)
			}
			r.of(v.claim)
			if u := m.lastUse(v, r); u != nil {
				r["last_used_at"] = u.ended().at
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// of adds the claim of a volume to a row. Its owner is known with the claim alone.
func (r row) of(c *claim) {
	r["namespace"], r["claim"], r["owner"], r["groups"] = "", "", "", []string(nil)
	if c != nil {
		r["namespace"], r["claim"] = c.namespace, c.name
		if c.known {
			r["owner"], r["groups"] = c.owner, c.groups
		}
	}
}

// shelf is a backing store; of a path of a node, on that node.
type shelf struct {
	place place
	node  string
}

// tenant is a volume on a shelf, or the pods of a namespace that name the store themselves.
type tenant struct {
	m             *model
	v             *volume
	namespace     string
	began, ended  fact.Time
	uses          []spell
	together      fact.Time
	pods          []string // that used it while others did
	kind, backend string
}

// spell is a use by a pod for certain.
type spell struct {
	pod          *pod
	began, ended fact.Time
}

func (t *tenant) name() string {
	if t.v == nil {
		return "pods in " + t.namespace
	}
	return t.v.name
}

func (s source) onNode() bool { return s.kind == "local" || s.kind == "hostPath" }

// shelves are the backing stores with those who had a place on each.
type shelves map[shelf][]*tenant

// at returns a tenant of a store, and adds it if it is new.
func (all shelves) at(m *model, s source, node string, v *volume, namespace string) *tenant {
	key := shelf{place: m.placeOf(s)}
	if s.onNode() {
		key.node = node
	}
	for _, t := range all[key] {
		if t.m == m && t.v == v && t.namespace == namespace {
			return t
		}
	}
	t := &tenant{m: m, v: v, namespace: namespace, kind: s.kind, backend: s.backend()}
	if v != nil {
		t.began, t.ended = v.created, cmp.Or(v.gone.notBefore, v.gone.at, endOfTime())
	}
	all[key] = append(all[key], t)
	return t
}

func (v *volume) existed(w window) bool { return v.known && w.overlaps(v.created, v.gone.at) }

// addUse adds a mount, as far as it was for certain in a window. A volume that is used exists.
func (all shelves) addUse(u mount, w window) {
	v, s := u.volume(), u.source()
	use := spell{u.pod, max(u.started(), w.since), min(cmp.Or(u.ended().notBefore, u.ended().at, now()), w.until)}
	if s.kind == "emptyDir" || s.kind == "" || v != nil && !v.existed(w) || use.began >= use.ended {
		return
	}
	node, namespace := u.pod.node, u.pod.namespace
	if v != nil {
		node, namespace = cmp.Or(v.pinned(), node), ""
	}
	t := all.at(u.m, s, node, v, namespace)
	t.began, t.ended = min(cmp.Or(t.began, use.began), use.began), max(t.ended, use.ended)
	t.uses = append(t.uses, use)
}

// away is for how long pods in a namespace have not used a store that they name themselves once they have left it.
const away = 7 * 24 * 3600 * second

// stays returns when a tenant had a place on its store: a volume while it existed, pods while they used it, but for short pauses.
func (t *tenant) stays() (list []spell) {
	if t.v != nil {
		return []spell{{nil, t.began, t.ended}}
	}
	slices.SortFunc(t.uses, func(a, b spell) int { return cmp.Compare(a.began, b.began) })
	for _, u := range t.uses {
		if n := len(list); n > 0 && u.began <= list[n-1].ended+away {
			list[n-1].ended = max(list[n-1].ended, u.ended)
		} else {
			list = append(list, u)
		}
	}
	return list
}

// meets reports whether two tenants had a place on a store at the same time.
func (t *tenant) meets(o *tenant) bool {
	return slices.ContainsFunc(t.stays(), func(a spell) bool {
		return slices.ContainsFunc(o.stays(), func(b spell) bool { return a.began < b.ended && a.ended > b.began })
	})
}

// shelvesOf returns who had a place on each backing store in a window.
func (h *history) shelvesOf(w window) shelves {
	all := shelves{}
	for _, m := range h.models {
		for _, v := range m.volumes {
			if v.existed(w) && (!v.source.onNode() || v.pinned() != "") {
				all.at(m, v.source, v.pinned(), v, "")
			}
		}
		for _, u := range m.mounts() {
			all.addUse(u, w)
		}
	}
	return all
}

// share finds out for how long, and by which pods, each of the tenants used a store while another one did.
func share(tenants []*tenant) {
	var marks []fact.Time
	for _, t := range tenants {
		for _, u := range t.uses {
			marks = append(marks, u.began, u.ended)
		}
	}
	slices.Sort(marks)
	for i := range len(marks) - 1 {
		from, to := marks[i], marks[i+1]
		covers := func(u spell) bool { return u.began <= from && u.ended > from }
		var busy []*tenant
		for _, t := range tenants {
			if slices.ContainsFunc(t.uses, covers) {
				busy = append(busy, t)
			}
		}
		if len(busy) < 2 || from == to {
			continue
		}
		for _, t := range busy {
			t.together += to - from
			for _, u := range t.uses {
				if covers(u) {
					t.pods = append(t.pods, u.pod.namespace+"/"+u.pod.name)
				}
			}
		}
	}
}

func sameStore(h *history, flags map[string]string) (rows []row) {
	f := h.choose(flags, "namespace", "owner", "group", "storageclass")
	w := h.window(flags, always, false)
	for key, tenants := range h.shelvesOf(w) {
		isVolume := func(t *tenant) bool { return t.v != nil }
		elsewhere := func(t *tenant) bool { return t.m != tenants[0].m }
		if !(len(tenants) > 1 && slices.ContainsFunc(tenants, isVolume)) && !slices.ContainsFunc(tenants, elsewhere) {
			continue
		}
		share(tenants)
		for _, t := range tenants {
			r := row{
				"cluster": t.m.cluster, "persistentvolume": "", "source": t.kind, "backend": t.backend, "node": key.node, "storage_class": "",
				"together_seconds": int64(t.together / second), "created_at": nil, "deleted_at": nil,
			}
			slices.Sort(t.pods)
			r["pods_together"] = slices.Compact(t.pods)
			state, others := t.others(tenants)
			r["state"], r["others"] = state, others
			r.of(nil)
			r["namespace"] = t.namespace
			if v := t.v; v != nil {
				r.of(v.claim)
				r["persistentvolume"], r["storage_class"], r["created_at"], r["deleted_at"] = v.name, v.class, v.created, v.gone.at
			}
			groups, _ := r["groups"].([]string)
			if f.takes(t.m, r["namespace"].(string), r["owner"].(string), groups, r["storage_class"].(string)) {
				rows = append(rows, r)
			}
		}
	}
	return rows
}

// others returns whether a tenant shares a store, and with whom; else who had it at another time.
func (t *tenant) others(tenants []*tenant) (state string, names []string) {
	rest := slices.DeleteFunc(slices.Clone(tenants), func(o *tenant) bool { return o == t })
	sharers := slices.DeleteFunc(slices.Clone(rest), func(o *tenant) bool { return !t.meets(o) })
	state = "reused"
	if len(sharers) > 0 {
		state, rest = "shared", sharers
	}
	near := false
	for _, o := range rest {
		if name := o.name(); o.m == t.m {
			near, names = true, append(names, name)
		} else {
			names = append(names, o.m.cluster+"/"+name)
		}
	}
	if !near {
		state = "presumed " + state
	}
	slices.Sort(names)
	return state, names
}
