package inventory

import (
	corev1 "k8s.io/api/core/v1"
)

type namespace struct {
	name    string
	labels  packed
	owner   string
	groups  string
	created Time
}

func (n *namespace) row(uid string, deleted Time, version uint64) Namespace {
	return Namespace{
		Version: version, UID: uid, Name: n.name, Labels: n.labels.unpack(), Owner: n.owner, Groups: split(n.groups),
		CreatedAt: n.created, DeletedAt: deleted,
	}
}

func (inv *Inventory) noteNamespace(o *corev1.Namespace, seen Seen) bool {
	uid := string(o.UID)
	old := inv.namespaces[uid]
	n := &namespace{
		name: o.Name, owner: ownerOf(o.Labels, o.Annotations), groups: joined(groupsOf(o.Labels, o.Annotations)),
		created: apiTime(o.CreationTimestamp),
	}
	if old != nil {
		n.labels = old.labels
	}
	n.labels = repack(n.labels, o.Labels)
	if old != nil && *old == *n {
		return false
	}
	inv.namespaces[uid] = n
	inv.nameNamespace(n)
	inv.update.Facts.Namespaces = append(inv.update.Facts.Namespaces, n.row(uid, 0, inv.nextVersion(seen.At)))
	return true
}

// sharedNamespace returns a namespace's name in the one string that its objects share.
func (inv *Inventory) sharedNamespace(name string) string {
	if n := inv.namespaceNames[name]; n != nil {
		return n.name
	}
	return name
}

// nameNamespace makes a namespace the one of its name, and notes if its labels are others.
func (inv *Inventory) nameNamespace(n *namespace) {
	if before := inv.namespaceNames[n.name]; before == nil || before.labels != n.labels {
		inv.relabelled[n.name] = struct{}{}
	}
	inv.namespaceNames[n.name] = n
}

// touchRelabelled has the volumes told whose namespaces have other labels. That looks at
// all volumes, once for an event, and for few events.
func (inv *Inventory) touchRelabelled() {
	if len(inv.relabelled) == 0 {
		return
	}
	for _, v := range inv.volumes {
		if _, ok := inv.relabelled[v.claim.namespace]; ok {
			inv.touchVolume(v)
		}
	}
	clear(inv.relabelled)
}

func (inv *Inventory) dropNamespace(uid string, seen Seen) {
	if n := inv.namespaces[uid]; n != nil {
		delete(inv.namespaces, uid)
		if inv.namespaceNames[n.name] == n {
			delete(inv.namespaceNames, n.name)
		}
		_, at := seen.within(n.created)
		inv.drown(Namespaces, uid)
		inv.update.Facts.Namespaces = append(inv.update.Facts.Namespaces, n.row(uid, at, inv.nextVersion(seen.At)))
	}
}
