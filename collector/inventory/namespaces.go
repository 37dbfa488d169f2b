package inventory

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/intern"
)

type namespace struct {
	name    string
	labels  intern.Labels
	owner   string
	groups  string
	created fact.Time
}

func (n *namespace) row(uid string, deleted fact.Time, version uint64) fact.Namespace {
	return fact.Namespace{
		Version: version, UID: uid, Name: n.name, Labels: n.labels.Unpack(), Owner: n.owner, Groups: intern.Split(n.groups),
		CreatedAt: n.created, DeletedAt: deleted,
	}
}

func (inv *Inventory) noteNamespace(o *corev1.Namespace, obs Observation) bool {
	uid := string(o.UID)
	old := inv.namespaces[uid]
	n := &namespace{
		name: o.Name, owner: ownerOf(o.Labels, o.Annotations), groups: intern.Join(groupsOf(o.Labels, o.Annotations)),
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
	inv.nameNamespace(n)
	inv.update.Facts.Namespaces = append(inv.update.Facts.Namespaces, n.row(uid, 0, inv.nextVersion(obs.At)))
	return true
}

// sharedNamespace returns a namespace's name as the one string that all its objects share.
func (inv *Inventory) sharedNamespace(name string) string {
	if n := inv.namespaceNames[name]; n != nil {
		return n.name
	}
	return name
}

// nameNamespace indexes a namespace under its name, and records whether its labels differ from its
// predecessor's.
func (inv *Inventory) nameNamespace(n *namespace) {
	if before := inv.namespaceNames[n.name]; before == nil || before.labels != n.labels {
		inv.relabelled[n.name] = struct{}{}
	}
	inv.namespaceNames[n.name] = n
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

func (inv *Inventory) dropNamespace(uid string, obs Observation) {
	if n := inv.namespaces[uid]; n != nil {
		delete(inv.namespaces, uid)
		if inv.namespaceNames[n.name] == n {
			delete(inv.namespaceNames, n.name)
		}
		_, at := obs.bounds(n.created)
		inv.forgetSnapshot(fact.Namespaces, uid)
		inv.update.Facts.Namespaces = append(inv.update.Facts.Namespaces, n.row(uid, at, inv.nextVersion(obs.At)))
	}
}
