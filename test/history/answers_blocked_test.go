package history

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// holder is a pod that has a claim.
type holder struct {
	pod     *pod
	since   fact.Time // of its first mount; 0 of a Pending pod without one
	running bool
}

// pending reports whether a pod is Pending: some of its containers have not started.
func (p *pod) pending() bool { return p.known && p.gone.at == 0 && p.seenPhase == "Pending" }

// waits reports whether a pod has not started.
func (p *pod) waits() bool { return p.pending() && p.started() == 0 }

// has reports whether a pod names a claim.
func (p *pod) has(c *claim) bool {
	return slices.ContainsFunc(p.stores, func(s store) bool { return s.claim == c })
}

// holders returns the pods that have a claim.
func (m *model) holders(c *claim) (list []holder) {
	since := map[*pod]fact.Time{}
	for _, u := range m.mounts() {
		if at := since[u.pod]; u.store.claim == c && (at == 0 || u.started() < at) {
			since[u.pod] = u.started()
		}
	}
	for _, p := range m.pods {
		if p.known && p.gone.at == 0 && (since[p] != 0 || p.pending() && p.has(c)) {
			over := p.seenPhase == "Succeeded" || p.seenPhase == "Failed" || p.finished() != 0
			list = append(list, holder{p, since[p], !over})
		}
	}
	return list
}

// exclusive reports whether only one node at a time can have a volume.
func (v *volume) exclusive() bool {
	return v != nil && len(v.modes) > 0 && !slices.Contains(v.modes, corev1.ReadWriteMany) && !slices.Contains(v.modes, corev1.ReadOnlyMany)
}

// attachments returns those of a volume that are there, as far as anybody may list them.
func (m *model) attachments(v *volume) (attached, failed map[string]*attachment) {
	attached, failed = map[string]*attachment{}, map[string]*attachment{}
	for _, a := range m.attached {
		switch {
		case len(m.hidden) > 0 || v == nil || a.volume != v || !a.known || a.gone != 0:
		case a.seenAttached:
			attached[a.node] = a
		default:
			failed[a.node] = a
		}
	}
	return attached, failed
}

// blockage is why a pod cannot start, or a claim cannot go.
type blockage struct {
	reason, details, node string
	holder                *pod
	since                 fact.Time // since when it is held
}

// wait is a pod that waits for one of its claims.
type wait struct {
	m                *model
	pod              *pod
	claim            *claim
	attached, failed map[string]*attachment // of the claim's volume
	exclusive, once  bool
}

func (m *model) wait(p *pod, c *claim) wait {
	attached, failed := m.attachments(c.volume)
	return wait{m, p, c, attached, failed, c.volume.exclusive(), slices.Contains(c.modes, corev1.ReadWriteOncePod)}
}

// failure is why the last try to attach the volume to the pod's node failed.
func (w wait) failure() string {
	if own := w.failed[w.pod.node]; own != nil {
		return own.seenFailure
	}
	return ""
}

// forPods returns the other pods for which it waits.
func (w wait) forPods() (list []blockage) {
	unknown := w.exclusive && len(w.m.hidden) > 0 && w.claim.volume.source.kind == "csi" // nobody may list attachments
	for _, h := range w.m.holders(w.claim) {
		switch {
		case h.pod == w.pod || !h.running:
		case w.once:
			list = append(list, blockage{"ReadWriteOncePod", "", h.pod.node, h.pod, h.since})
		case unknown && h.pod.started() != 0 && h.pod.node != w.pod.node:
			list = append(list, blockage{"presumed: mounted elsewhere", "", h.pod.node, h.pod, h.since})
		}
	}
	return list
}

// forNodes returns the other nodes for which it waits, with the pods there, or with none.
func (w wait) forNodes() (list []blockage) {
	if !w.exclusive || w.attached[w.pod.node] != nil {
		return nil
	}
	for node, a := range w.attached {
		before := len(list)
		for _, h := range w.m.holders(w.claim) {
			if h.running && h.pod.node == node {
				list = append(list, blockage{"attached elsewhere", w.failure(), node, h.pod, a.at})
			}
		}
		if len(list) == before {
			list = append(list, blockage{"attached elsewhere", w.failure(), node, nil, a.at})
		}
	}
	return list
}

// blockages returns what it waits for.
func (w wait) blockages() []blockage {
	list := append(w.forPods(), w.forNodes()...)
	if w.failure() != "" && !(w.exclusive && len(w.attached) > 0) {
		list = append(list, blockage{"attach error", w.failure(), "", nil, 0})
	}
	return list
}

// row is what the report blocked says, but for the name and the owner of who waits.
func (b blockage) row(m *model, c *claim, since fact.Time) row {
	r := row{
		"cluster": m.cluster, "namespace": c.namespace, "reason": b.reason, "waits_since": since, "waits_seconds": lasted(since, 0), "claim": c.name,
		"persistentvolume": "", "storage_class": c.class, "holder": "", "holder_workload": "", "holder_node": b.node, "held_since": b.since, "details": b.details,
	}
	if c.volume != nil {
		r["persistentvolume"] = c.volume.name
	}
	if p := b.holder; p != nil {
		r["holder"], r["holder_workload"] = p.name, p.workloadName()
	}
	return r
}

// waitingPods returns a row for each reason why a pod cannot start.
func (m *model) waitingPods() (rows []row) {
	for _, p := range m.pods {
		for _, c := range p.claims() {
			if !p.waits() || !c.lives() {
				continue
			}
			u := mount{m: m, pod: p, store: store{claim: c}}
			for _, b := range m.wait(p, c).blockages() {
				r := b.row(m, c, p.created)
				r["kind"], r["name"], r["workload"], r["owner"], r["groups"] = "Pod", p.name, p.workloadName(), u.owner(), u.groups()
				rows = append(rows, r)
			}
		}
	}
	return rows
}

// waitingClaims returns a row for each pod that keeps a claim from its deletion.
func (m *model) waitingClaims() (rows []row) {
	for _, c := range m.claims {
		if !c.lives() || !c.seenAsked {
			continue
		}
		for _, h := range m.holders(c) {
			b := blockage{"being deleted", "", h.pod.node, h.pod, h.since}
			if !h.running {
				b.details = "the pod is over"
			}
			r := b.row(m, c, c.asked)
			r["kind"], r["name"], r["workload"], r["owner"], r["groups"] = "PersistentVolumeClaim", c.name, "", c.owner, c.groups
			rows = append(rows, r)
		}
	}
	return rows
}

func blocked(h *history, flags map[string]string) (rows []row) {
	f := h.choose(flags, "namespace", "owner", "group", "storageclass", "workload")
	named := func(workload any) bool {
		_, name, _ := strings.Cut(workload.(string), "/")
		return workload != "" && (workload == f.workload || name == f.workload)
	}
	for _, m := range h.models {
		for _, r := range append(m.waitingPods(), m.waitingClaims()...) {
			takes := f.takes(m, r["namespace"].(string), r["owner"].(string), r["groups"].([]string), r["storage_class"].(string))
			if takes && (f.workload == "" || named(r["workload"]) || named(r["holder_workload"])) {
				rows = append(rows, r)
			}
		}
	}
	return rows
}

// claims returns each claim that a pod names, once.
func (p *pod) claims() (list []*claim) {
	for _, s := range p.stores {
		if s.claim != nil && !slices.Contains(list, s.claim) {
			list = append(list, s.claim)
		}
	}
	return list
}
