package inventory

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/intern"
)

// node is what is known of the life of a node: rule 3.6 asks until when its kubelet can have
// confirmed that a container lives.
type node struct {
	uid       string
	known     bool      // its conditions have been observed
	lost      bool      // its Ready condition is not True, or it was deleted
	heartbeat fact.Time // the last heartbeat of its kubelet, by the node's clock
	alive     fact.Time // the same, by ours
	returned  fact.Time // when it was made, or observed to be Ready again after it was lost
	before    fact.Time // while it is lost: its last heartbeat before
	queued
}

// noteNode takes a node's Ready condition, and keeps its labels for the record. A node that is
// restored comes as its metadata alone; its snapshot completes it.
func (inv *Inventory) noteNode(o metav1.Object, obs Observation) bool {
	n := inv.nodes[o.GetName()]
	if n == nil || n.uid != string(o.GetUID()) {
		again := n != nil
		n = &node{uid: string(o.GetUID()), returned: apiTime(o.GetCreationTimestamp())}
		if again {
			n.returned = obs.At
		}
		inv.nodes[o.GetName()] = n
	}
	if whole, ok := o.(*corev1.Node); ok {
		n.read(whole, obs, inv)
	}
	return inv.noteOther(fact.Nodes, o, obs)
}

// read takes the Ready condition. A heartbeat counts once, when it is first observed: the clock of
// its node may be ahead. The node's controller leaves it as it is when it calls the node Unknown.
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

// dropNode notes that a node is gone. Its pods are removed within a minute or two (pod garbage
// collection), so it is remembered for a while.
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

// nodeName is the name of a node that is gone.
type nodeName string

func (inv *Inventory) evictNode(uid string, name nodeName) {
	if n := inv.nodes[string(name)]; n != nil && n.uid == uid {
		delete(inv.nodes, string(name))
	}
}

// lifeOfNode returns until when the kubelet of a pod's node is known to have lived, and whether
// the node is lost: nobody can tell what becomes of the pod's containers. Of a container that the
// kubelet has vouched for before the node was lost, and not since it is back, nobody can tell
// either: the node may have been rebooted. A node that is not among those that are known is gone.
// Where nodes are not known, the pod's own Ready condition decides: the node lifecycle controller
// sets it to False.
func (inv *Inventory) lifeOfNode(p *pod, vouched fact.Time) (alive fact.Time, lost bool) {
	switch n := inv.nodes[intern.Text(p.node)]; {
	case n != nil && n.known && vouched+almostASecond < n.returned:
		return 0, true
	case n != nil && n.known && n.lost:
		return n.before, true
	case n != nil && n.known:
		return n.alive, false
	case n == nil && len(inv.nodes) > 0:
		return 0, true
	default:
		return 0, p.unready
	}
}

func (n *node) snapshot(*Inventory) fact.ObjectSnapshot {
	return fact.ObjectSnapshot{Kind: fact.Nodes, UID: n.uid, Lost: n.lost, Known: n.known, Alive: n.alive, Heartbeat: n.heartbeat, NodeReturned: n.returned, AliveBefore: n.before}
}

func (n *node) restore(s *fact.ObjectSnapshot) {
	n.lost, n.known, n.alive, n.heartbeat = s.Lost, s.Known, latest(n.alive, s.Alive), s.Heartbeat
	n.returned, n.before = latest(n.returned, s.NodeReturned), s.AliveBefore
}
