package inventory

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/intern"
)

type namespace struct {
	uid     string
	name    string
	labels  intern.Labels
	owner   string
	groups  string
	created fact.Time
}

func (n *namespace) row(deleted fact.Time, version uint64) fact.Namespace {
	return fact.Namespace{
		Version: version, UID: n.uid, Name: n.name, Labels: n.labels.Unpack(), Owner: n.owner, Groups: intern.Split(n.groups),
		CreatedAt: n.created, DeletedAt: deleted,
	}
}

func (inv *Inventory) noteNamespace(o *corev1.Namespace, obs Observation) bool {
	uid := string(o.UID)
	old := inv.namespaces[uid]
	n := &namespace{
		uid: uid, name: o.Name, owner: ownerOf(o.Labels, o.Annotations), groups: intern.Join(groupsOf(o.Labels, o.Annotations)),
		created: apiTime(o.CreationTimestamp),
	}
	if old != nil {
		n.labels = old.labels
	}
	n.labels = intern.Repack(n.labels, o.Labels)
	if old != nil && *old == *n {
		return false
	}
	inv.namespaces[uid] = n
	if predecessor := inv.nameNamespace(n); predecessor != nil {
		inv.dropNamespace(predecessor.uid, obs) // emits n, too
		return true
	}
	inv.emitNamespace(n, 0, obs)
	return true
}

func (inv *Inventory) emitNamespace(n *namespace, deleted fact.Time, obs Observation) {
	inv.update.Facts.Namespaces = append(inv.update.Facts.Namespaces, n.row(deleted, inv.nextVersion(obs.At)))
}

// sharedNamespace returns a namespace's name as the one string that all its objects share.
func (inv *Inventory) sharedNamespace(name string) string {
	if n := inv.namespaceNames[name]; n != nil {
		return n.name
	}
	return name
}

// nameNamespace indexes a namespace under its name, and records whether its labels differ from its
// predecessor's. It returns the predecessor if that is gone: an update or a list can hide a deletion
// and a creation. A restored namespace can be the predecessor of the one that has the name already.
func (inv *Inventory) nameNamespace(n *namespace) (predecessor *namespace) {
	before := inv.namespaceNames[n.name]
	if before != nil && inv.restoring && n.created <= before.created {
		return nil
	}
	if before == nil || before.labels != n.labels {
		inv.relabelled[n.name] = struct{}{}
	}
	inv.namespaceNames[n.name] = n
	if before == nil || before.uid == n.uid || inv.restoring {
		return nil
	}
	return before
}

// markRelabelled marks the volumes whose namespaces have new labels. It scans all volumes, once per
// event, and only few events change labels.
func (inv *Inventory) markRelabelled() {
	if len(inv.relabelled) == 0 {
		return
	}
	for _, v := range inv.volumes {
		if _, ok := inv.relabelled[v.claim.namespace]; ok {
			inv.markVolumeState(v)
		}
	}
	clear(inv.relabelled)
}

// dropNamespace emits that a namespace is gone. The row of a successor follows: the last row of a
// name is the living namespace's, because the counters go by the name.
func (inv *Inventory) dropNamespace(uid string, obs Observation) {
	n := inv.namespaces[uid]
	if n == nil {
		return
	}
	delete(inv.namespaces, uid)
	inv.forgetSnapshot(fact.Namespaces, uid)
	if successor := inv.namespaceNames[n.name]; successor != nil && successor != n {
		_, at := obs.before(successor.created).bounds(n.created) // rule 1.4
		inv.emitNamespace(n, at, obs)
		inv.emitNamespace(successor, 0, obs)
		return
	}
	delete(inv.namespaceNames, n.name)
	_, at := obs.bounds(n.created)
	inv.emitNamespace(n, at, obs)
}
