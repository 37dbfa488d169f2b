package history

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

const (
	hostname = "kubernetes.io/hostname"
	zoneKey  = "topology.kubernetes.io/zone"
)

// node is a node, with what a tracker has seen of it.
type node struct {
	uid, name, zone string
	created         fact.Time
	existing        bool
	seen            []labelled
	deleted         fact.Time // as a tracker observed
}

// labelled is the zone of a node from a moment on.
type labelled struct {
	at   fact.Time
	zone string
}

// requirement is the only one of a term of a volume's node affinity.
type requirement struct {
	key    string
	values []string
}

// meets reports whether a node of a name and a zone meets one of the terms.
func (v *volume) meets(name, zone string) bool {
	labels := map[string]string{hostname: name, zoneKey: zone}
	return slices.ContainsFunc(v.affinity, func(r requirement) bool { return slices.Contains(r.values, labels[r.key]) })
}

// pinned returns the only node that the affinity of a volume names; empty if there is none.
func (v *volume) pinned() (name string) {
	for _, r := range v.affinity {
		if r.key != hostname || len(r.values) != 1 || name != "" && name != r.values[0] {
			return ""
		}
		name = r.values[0]
	}
	return name
}

// makeNodes makes the nodes of the pods, which stay, and some on which volumes are alone.
func (w *world) makeNodes() {
	w.born = w.tick()
	for i := range 3 {
		w.addNode(fmt.Sprint("node-", i))
	}
	for i := range 4 {
		w.addNode(fmt.Sprint("disk-", i))
	}
}

func (w *world) addNode(name string) *node {
	n := &node{uid: w.uid("node"), name: name, zone: pick(w, []string{"a", "b", "c"}), created: w.clock, existing: true}
	w.nodes = append(w.nodes, n)
	return n
}

// makeAffinity returns the node affinity of a new volume: some have none.
func (w *world) makeAffinity(kind string) []requirement {
	on := func() requirement {
		if w.chance(30) {
			return requirement{hostname, []string{fmt.Sprint("node-", w.rnd.IntN(3))}}
		}
		return requirement{hostname, []string{fmt.Sprint("disk-", w.rnd.IntN(4))}}
	}
	switch n := w.rnd.IntN(8); {
	case kind == "local" && n < 5:
		return []requirement{on()}
	case n == 5:
		return []requirement{on(), on()}
	case n == 6:
		return []requirement{{zoneKey, []string{pick(w, []string{"a", "b", "c", "never"})}}}
	case n == 7:
		return []requirement{{zoneKey, []string{"a", "b"}}, on()}
	}
	return nil
}

// changeNode deletes a node on which no pod is, makes one with a name that is free, or gives it another zone.
func (w *world) changeNode() bool {
	n := any1(w, w.nodes, func(n *node) bool { return n.name[0] == 'd' && (n.existing || w.free(n.created > w.gapSince)) })
	if n == nil {
		return false
	}
	w.tick()
	switch {
	case n.existing && w.chance(30):
		n.zone = pick(w, []string{"a", "b", "c"})
		w.showNode(n)
		return true
	case n.existing:
		n.existing = false
		if w.watched {
			n.deleted = w.clock
			w.tracker.delete(w.nodeObject(n), w.clock)
		}
	}
	lives := func(o *node) bool { return o.existing && o.name == n.name }
	if !slices.ContainsFunc(w.nodes, lives) && w.chance(60) {
		w.tick()
		w.showNode(w.addNode(n.name))
	}
	return true
}

func (w *world) showNode(n *node) {
	if w.watched {
		w.seeNode(n)
		w.tracker.set(w.nodeObject(n), w.clock)
	}
}

func (w *world) seeNode(n *node) {
	if last := len(n.seen) - 1; last < 0 || n.seen[last].zone != n.zone {
		n.seen = append(n.seen, labelled{w.clock, n.zone})
	}
}

func (w *world) listNodes(lists map[fact.Kind][]any) {
	for _, n := range w.nodes {
		switch {
		case n.existing:
			w.seeNode(n)
			lists[fact.Nodes] = append(lists[fact.Nodes], w.nodeObject(n))
		case n.seen != nil && n.deleted == 0:
			n.deleted = w.clock
		}
	}
}

func (w *world) nodeObject(n *node) *corev1.Node {
	o := &corev1.Node{ObjectMeta: w.meta(n.uid, "", n.name, n.created)}
	o.Labels = map[string]string{hostname: n.name, zoneKey: n.zone}
	return o
}

func affinityObject(terms []requirement) *corev1.VolumeNodeAffinity {
	if len(terms) == 0 {
		return nil
	}
	required := &corev1.NodeSelector{}
	for _, r := range terms {
		required.NodeSelectorTerms = append(required.NodeSelectorTerms, corev1.NodeSelectorTerm{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: r.key, Operator: corev1.NodeSelectorOpIn, Values: r.values}},
		})
	}
	return &corev1.VolumeNodeAffinity{Required: required}
}
