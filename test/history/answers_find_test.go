package history

import (
	"slices"
	"strings"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// found collects what has a name in a cluster.
type found struct {
	m    *model
	name string
	f    filters
	rows []row
}

// add adds a row; ended is zero while the object exists. A name that does not match is "".
func (x *found) add(kind, namespace, name, uid, matched string, began, ended fact.Time) {
	if matched == "" || !x.f.takes(x.m, x.f.namespace, "", nil, "") {
		return
	}
	if n := x.f.namespace; n != "" && n != namespace && kind != "PersistentVolume" && (kind != "Namespace" || n != name) {
		return
	}
	r := row{"cluster": x.m.cluster, "kind": kind, "namespace": namespace, "name": name, "uid": uid, "matched": matched, "since": began, "until": ended}
	if kind == "backing store" {
		delete(r, "uid")
	}
	if text := r.text(); !slices.ContainsFunc(x.rows, func(o row) bool { return o.text() == text }) {
		x.rows = append(x.rows, r)
	}
}

// matches is how an object has the name: by one of its names, or by its UID.
func (x *found) matches(uid string, names ...string) string {
	switch {
	case x.name == "":
		return ""
	case uid == x.name:
		return "uid"
	case slices.Contains(names, x.name):
		return "name"
	}
	return ""
}

// store is how a backing store has the name.
func (x *found) store(s source) string {
	switch x.name {
	case s.server:
		return "server"
	case s.path:
		return "path"
	case s.server + ":" + s.path:
		return "server and path"
	}
	return ""
}

func (x *found) volumes() {
	for _, v := range x.m.volumes {
		if !v.known {
			continue
		}
		store := x.store(v.source)
		x.add("backing store", "", strings.Trim(v.source.kind+" "+v.source.backend(), " "), "", store, 0, 0)
		matched := ""
		switch {
		case v.name == x.name:
			matched = "name"
		case v.uid == x.name:
			matched = "uid"
		case v.source.kind == "csi" && v.source.path == x.name:
			matched = "handle"
		case store != "":
			matched = "backing store"
		}
		if n := x.f.namespace; n == "" || v.claim != nil && v.claim.namespace == n {
			x.add("PersistentVolume", "", v.name, v.uid, matched, v.created, v.gone.at)
		}
	}
}

// lifeOf is the life of several objects: from the first beginning until the last end, or it lasts.
func lifeOf(began, ended []fact.Time) (since, until fact.Time) {
	if slices.Contains(ended, 0) {
		return slices.Min(began), 0
	}
	return slices.Min(began), slices.Max(ended)
}

// group is what pods and claims have in common: a workload, a node, an owner or a group.
type group struct{ kind, namespace, name, uid, matched string }

func (x *found) podsAndClaims() {
	began, ended := map[group][]fact.Time{}, map[group][]fact.Time{}
	add := func(g group, since, until fact.Time) {
		if g.matched != "" {
			began[g], ended[g] = append(began[g], since), append(ended[g], until)
		}
	}
	all := func(namespace, owner string, groups []string, since, until fact.Time) {
		add(group{"Owner", namespace, owner, "", x.matches("", owner)}, since, until)
		for _, name := range groups {
			add(group{"Group", namespace, name, "", x.matches("", name)}, since, until)
		}
	}
	for _, p := range x.m.pods {
		if !p.known {
			continue
		}
		x.add("Pod", p.namespace, p.name, p.uid, x.matches(p.uid, p.name, p.namespace+"/"+p.name, "Pod/"+p.name, p.namespace+"/Pod/"+p.name), p.created, p.gone.at)
		if p.workload != "" {
			name, uid := p.workloadName(), p.kind+p.namespace+p.workload
			add(group{p.kind, p.namespace, p.workload, uid, x.matches(uid, p.workload, name, p.namespace+"/"+name)}, p.created, p.gone.at)
		}
		add(group{"Node", "", p.node, "", x.matches("", p.node)}, p.created, p.gone.at)
		all(p.namespace, p.owner, p.groups, p.created, p.gone.at)
	}
	for _, c := range x.m.claims {
		if c.known {
			x.add("PersistentVolumeClaim", c.namespace, c.name, c.uid, x.matches(c.uid, c.name, c.namespace+"/"+c.name), c.created, c.gone.at)
			all(c.namespace, c.owner, c.groups, c.created, c.gone.at)
		}
	}
	for g := range began {
		since, until := lifeOf(began[g], ended[g])
		x.add(g.kind, g.namespace, g.name, g.uid, g.matched, since, until)
	}
}

func find(h *history, flags map[string]string) (rows []row) {
	u := h.subject
	names := []string{
		u.pod.name, u.pod.uid, u.pod.namespace + "/" + u.pod.name, u.pod.workload, u.pod.workloadName(), u.pod.namespace + "/" + u.pod.workloadName(),
		u.pod.kind + u.pod.namespace + u.pod.workload, u.pod.node, u.owner(), u.pod.namespace, "namespace-" + u.pod.namespace, u.class(), "class-" + u.class(),
		u.store.claimName, u.pod.namespace + "/" + u.store.claimName, u.source().path, u.source().server, u.source().server + ":" + u.source().path,
	}
	names = append(names, u.groups()...)
	if c := u.store.claim; c != nil {
		names = append(names, c.uid)
	}
	if v := u.volume(); v != nil {
		names = append(names, v.name, v.uid, v.source.path)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return strings.Trim(name, "/:") == "" })
	name := names[h.rnd.IntN(len(names))]
	flags["name"] = name
	f := h.choose(flags, "namespace")
	for _, m := range h.models {
		x := &found{m: m, name: name, f: f}
		x.volumes()
		x.podsAndClaims()
		for _, u := range m.mounts() {
			if u.store.claim == nil {
				store := x.store(u.source())
				x.add("backing store", "", strings.Trim(u.source().kind+" "+u.source().backend(), " "), "", store, 0, 0)
				if store != "" {
					x.add("Pod", u.pod.namespace, u.pod.name, u.pod.uid, "backing store", u.pod.created, u.pod.gone.at)
				}
			}
		}
		for _, class := range m.classes {
			x.add("StorageClass", "", class, "class-"+class, x.matches("class-"+class, class), m.born, 0)
		}
		for _, n := range m.namespaces {
			x.add("Namespace", "", n, "namespace-"+n, x.matches("namespace-"+n, n), m.born, 0)
		}
		rows = append(rows, x.rows...)
	}
	return rows
}
