package inventory

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/intern"
)

// node is the evidence of a node's life: rule 3.6 asks until when its kubelet can have confirmed
// that a container lives.
type node struct {
	uid       string
	known     bool      // its conditions have been observed
	lost      bool      // its Ready condition is not True, or it was deleted
	heartbeat fact.Time // the last heartbeat of its kubelet, by the node's clock
	alive     fact.Time // the same, by the tracker's clock
	returned  fact.Time // when it was created, or observed to be Ready again after it was lost
	before    fact.Time // while it is lost: its last heartbeat before that
	queued
}

// noteNode takes a node's Ready condition, and emits its labels. A restored node arrives as
// metadata alone; its snapshot completes it. A restored node can be the predecessor of the one that
// has the name already.
func (inv *Inventory) noteNode(o metav1.Object, obs Observation) bool {
	inv.nodesHidden = false
	n, created := inv.nodes[o.GetName()], apiTime(o.GetCreationTimestamp())
	if n == nil || n.uid != string(o.GetUID()) {
		if n != nil && inv.restoring && created <= n.returned {
			return inv.noteOther(fact.Nodes, o, obs)
		}
		again := n != nil
		n = &node{uid: string(o.GetUID()), returned: created}
		if again && !inv.restoring {
			n.returned = obs.At
		}
		inv.nodes[o.GetName()] = n
	}
	if whole, ok := o.(*corev1.Node); ok {
		n.read(whole, obs, inv)
	}
	return inv.noteOther(fact.Nodes, o, obs)
}

// read takes the Ready condition. A heartbeat counts once, when it is first observed, because the
// node's clock may be ahead. The node lifecycle controller does not change it when it sets Ready to
// Unknown.
func (n *node) read(o *corev1.Node, obs Observation, inv *Inventory) {
	for i := range o.Status.Conditions {
		c := &o.Status.Conditions[i]
		if c.Type != corev1.NodeReady {
			continue
		}
		before := n.alive
		if heartbeat := apiTime(c.LastHeartbeatTime); heartbeat != n.heartbeat {
			n.heartbeat = heartbeat
			latestPossible := obs.At
			if changed := apiTime(c.LastTransitionTime); c.Status == corev1.ConditionUnknown && changed != 0 {
				latestPossible = min(latestPossible, changed)
			}
			n.alive = latest(n.alive, min(heartbeat, latestPossible))
		}
		lost := c.Status != corev1.ConditionTrue
		if lost == n.lost && n.known {
			continue
		}
		switch {
		case c.Status == corev1.ConditionUnknown:
			n.before = n.alive
		case lost: // a kubelet that starts, perhaps after a reboot
			n.before = before
		case n.known:
			n.returned = obs.At
		}
		n.lost, n.known = lost, true
		inv.markSnapshot(n)
	}
}

// HideNodes notes that the API server does not show nodes any more, so that nobody knows how they are
// until the next of them is observed.
func (inv *Inventory) HideNodes() {
	if inv.nodesHidden {
		return
	}
	inv.nodesHidden = true
	for _, p := range inv.pods {
		if p.unready {
			inv.markSnapshot(p)
		}
	}
}

// dropNode records that a node is gone. Pod garbage collection deletes its pods within a minute or
// two, so the node is kept until its tombstone is evicted.
func (inv *Inventory) dropNode(uid string, obs Observation) {
	if had := inv.others[fact.Nodes][uid]; had != nil {
		if n := inv.nodes[had.name]; n != nil && n.uid == uid {
			if !n.lost {
				n.lost, n.before = true, n.alive
			}
			inv.entomb(fact.Nodes, uid, obs.At, nodeName(had.name))
		}
	}
	inv.dropOther(fact.Nodes, uid, obs)
}

// nodeName is the name of a deleted node, in its tombstone.
type nodeName string

func (inv *Inventory) evictNode(uid string, name nodeName) {
	if n := inv.nodes[string(name)]; n != nil && n.uid == uid {
		delete(inv.nodes, string(name))
	}
}

// lifeOfNode returns until when the kubelet of a pod's node is known to have lived, and whether the
// node is lost, so that nothing more is known of the pod's containers. A container that the kubelet
// vouched for before the node was lost, and not since the node returned, counts as on a lost node:
// the node may have been rebooted. A node that is not among the known ones is gone. If no nodes are
// known, or the API server no longer shows them, the pod's own Ready condition decides, which the
// node lifecycle controller sets to False.
func (inv *Inventory) lifeOfNode(p *pod, vouched fact.Time) (alive fact.Time, lost bool) {
	switch n := inv.nodes[intern.Text(p.node)]; {
	case n != nil && n.known && vouched+almostASecond < n.returned:
		return 0, true
	case n != nil && n.known && n.lost:
		return n.before, true
	case n != nil && n.known:
		return n.alive, inv.nodesHidden && p.unready
	case n == nil && len(inv.nodes) > 0 && !inv.nodesHidden:
		return 0, true
	default:
		return 0, p.unready
	}
}

// asksForReady reports whether lifeOfNode goes by the pod's own Ready condition. While its node is shown, a readiness
// that comes and goes is not worth a record in the journal: a node that is lost has one.
func (inv *Inventory) asksForReady(p *pod) bool {
	n := inv.nodes[intern.Text(p.node)]
	return inv.nodesHidden || n == nil || !n.known
}

func (n *node) snapshot(*Inventory) fact.ObjectSnapshot {
	return fact.ObjectSnapshot{Kind: fact.Nodes, UID: n.uid, Lost: n.lost, Known: n.known, Alive: n.alive, Heartbeat: n.heartbeat, NodeReturned: n.returned, AliveBefore: n.before}
}

func (n *node) restore(s *fact.ObjectSnapshot) {
	n.lost, n.known, n.alive, n.heartbeat = s.Lost, s.Known, latest(n.alive, s.Alive), s.Heartbeat
	n.returned, n.before = latest(n.returned, s.NodeReturned), s.AliveBefore
}
