package inventory

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/intern"
)

// node is what is known of the life of a node: rule 3.6 asks whether its kubelet can have
// confirmed that a container ended.
type node struct {
	uid   string
	lost  bool      // its Ready condition is not True, or it was deleted
	alive fact.Time // the last heartbeat of its kubelet that the API has shown
	queued
}

// noteNode takes a node's Ready condition, and keeps its labels for the record. A node that is
// restored comes as its metadata alone; its snapshot completes it.
func (inv *Inventory) noteNode(o metav1.Object, obs Observation) bool {
	n := inv.nodes[o.GetName()]
	if n == nil || n.uid != string(o.GetUID()) {
		n = &node{uid: string(o.GetUID())}
		inv.nodes[o.GetName()] = n
	}
	if whole, ok := o.(*corev1.Node); ok {
		n.read(whole, obs, inv)
	}
	return inv.noteOther(fact.Nodes, o, obs)
}

func (n *node) read(o *corev1.Node, obs Observation, inv *Inventory) {
	for i := range o.Status.Conditions {
		c := &o.Status.Conditions[i]
		if c.Type != corev1.NodeReady {
			continue
		}
		n.alive = latest(n.alive, min(apiTime(c.LastHeartbeatTime), obs.At))
		if lost := c.Status != corev1.ConditionTrue; lost != n.lost {
			n.lost = lost
			inv.markSnapshot(n)
		}
	}
}

// dropNode notes that a node is gone. Its pods are removed within a minute or two (pod garbage
// collection), so it is remembered for a while.
func (inv *Inventory) dropNode(uid string, obs Observation) {
	if had := inv.others[fact.Nodes][uid]; had != nil {
		if n := inv.nodes[had.name]; n != nil && n.uid == uid {
			n.lost = true
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

// lostNode reports whether nobody can confirm that a pod's containers ended, because the node
// is lost, and until when the node's kubelet is known to have lived. Of a node that we do not
// know, the pod's own Ready condition decides: the node lifecycle controller sets it to False.
func (inv *Inventory) lostNode(p *pod) (alive fact.Time, lost bool) {
	n := inv.nodes[intern.Text(p.node)]
	if n == nil {
		return 0, p.unready
	}
	return n.alive, n.lost
}

func (n *node) snapshot(*Inventory) fact.Snapshot {
	return fact.Snapshot{Kind: fact.Nodes, UID: n.uid, Lost: n.lost, Alive: n.alive}
}

func (n *node) restore(s *fact.Snapshot) { n.lost, n.alive = s.Lost, latest(n.alive, s.Alive) }
