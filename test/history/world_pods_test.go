package history

import (
	"fmt"
)

// inlineShare is a backing store that pods name themselves.
var inlineShare = source{kind: "nfs", server: "nfs.example.com", path: "/home"}

// makePod adds a pod that has not started.
func (w *world) makePod() bool {
	p := &pod{
		namespace: pick(w, w.names.namespaces), name: pick(w, w.names.pods), node: fmt.Sprint("node-", w.rnd.IntN(3)), owner: pick(w, w.names.owners), groups: w.groups(),
		phase: "Pending", existing: true, restarts: w.chance(50),
	}
	for _, o := range w.pods {
		if o.existing && o.namespace == p.namespace && o.name == p.name {
			return false
		}
	}
	if p.kind = pick(w, []string{"", "", "StatefulSet", "DaemonSet", "Deployment", "Database"}); p.kind != "" {
		p.workload = pick(w, w.names.workloads)
	}
	p.uid, p.created = w.uid("pod"), w.tick()
	w.addStores(p)
	if len(p.stores) == 0 {
		return false
	}
	w.addContainers(p)
	w.pods = append(w.pods, p)
	w.showPod(p)
	for i, s := range p.stores {
		if s.ephemeral {
			w.addClaim(p.namespace, s.claimName, p)
			p.stores[i].claim = w.claims[len(w.claims)-1]
		}
	}
	w.refer(p)
	return true
}

func (w *world) addStores(p *pod) {
	for i := range 1 + w.rnd.IntN(3) {
		s := store{name: fmt.Sprint("v", i)}
		switch w.rnd.IntN(6) {
		case 0:
			s.source = pick(w, []source{{kind: "emptyDir"}, {kind: "hostPath", path: "/var/log"}, inlineShare})
		case 1:
			s.ephemeral, s.claimName = true, p.name+"-"+s.name
			if any1(w, w.claims, func(c *claim) bool { return c.existing && c.namespace == p.namespace && c.name == s.claimName }) != nil {
				continue
			}
		default:
			c := any1(w, w.claims, func(c *claim) bool {
				return c.existing && c.namespace == p.namespace && c.pod == nil && c.phase != "Lost"
			})
			if c == nil {
				continue
			}
			s.claim, s.claimName = c, c.name
		}
		p.stores = append(p.stores, s)
	}
}

func (w *world) addContainers(p *pod) {
	add := func(name, kind string) {
		c := &container{name: name, kind: kind}
		for i := range p.stores {
			for n := range 1 + w.rnd.IntN(2) {
				if n == 0 && w.chance(15) {
					continue
				}
				c.mounts = append(c.mounts, mountPoint{i, fmt.Sprintf("/%s/%d-%d", pick(w, w.names.paths), i, n), w.chance(30)})
			}
		}
		p.containers = append(p.containers, c)
	}
	if w.chance(30) {
		add("setup", "init")
	}
	add("main", "main")
	if w.chance(40) {
		add("side", "main")
	}
}

func (w *world) startPod() bool {
	p := any1(w, w.pods, func(p *pod) bool {
		for _, s := range p.stores {
			if s.claim != nil && s.claim.phase != "Bound" {
				return false
			}
		}
		return p.existing && p.phase == "Pending"
	})
	if p == nil {
		return false
	}
	w.attach(p)
	p.scheduled, p.phase = w.tick(), "Running"
	for _, c := range p.containers {
		c.life.started = w.tick()
		if c.kind == "init" {
			t := w.tick()
			c.life.end, c.life.reason = end{t, t}, "Completed"
		}
	}
	w.tick()
	w.showPod(p)
	return true
}

// restart lets a container crash and start again, which is one use.
func (w *world) restart() bool {
	p := any1(w, w.pods, func(p *pod) bool { return p.existing && p.restarts && p.phase == "Running" })
	if p == nil {
		return false
	}
	c := p.containers[len(p.containers)-1]
	if c.restarted != 0 {
		return false
	}
	w.tick()
	c.restarted = w.tick()
	w.tick()
	w.showPod(p)
	return true
}

// endContainer ends the last container of a pod while another runs.
func (w *world) endContainer() bool {
	p := any1(w, w.pods, func(p *pod) bool {
		n := len(p.containers)
		return p.existing && !p.restarts && p.phase == "Running" && n > 1 && p.containers[n-1].life.end.at == 0 && p.containers[n-2].life.end.at == 0
	})
	if p == nil {
		return false
	}
	w.endOf(p.containers[len(p.containers)-1], pick(w, []string{"Completed", "Error"}))
	w.tick()
	w.showPod(p)
	return true
}

func (w *world) endOf(c *container, reason string) {
	t := w.tick()
	c.life.end, c.life.reason = end{t, t}, reason
}

// endPod lets a pod complete or fail.
func (w *world) endPod() bool {
	p := any1(w, w.pods, func(p *pod) bool { return p.existing && !p.restarts && p.phase == "Running" })
	if p == nil {
		return false
	}
	p.phase = "Succeeded"
	for _, c := range p.containers {
		if c.life.end.at == 0 {
			w.endOf(c, pick(w, []string{"Completed", "Error"}))
		}
		if c.life.reason == "Error" {
			p.phase = "Failed"
		}
	}
	w.tick()
	w.showPod(p)
	w.refer(p)
	return true
}

// deletePod deletes a pod: in order, so that its kubelet says when its containers ended, or by force.
func (w *world) deletePod() bool {
	p := any1(w, w.pods, func(p *pod) bool {
		for _, s := range p.stores {
			if s.ephemeral && !w.deletable(s.claim) {
				return false
			}
		}
		return p.existing
	})
	if p == nil {
		return false
	}
	if p.phase == "Running" && w.chance(70) {
		p.asked = w.tick()
		w.showPod(p)
		w.tick()
		for _, c := range p.containers {
			if c.life.end.at == 0 {
				w.endOf(c, "Deleted")
			}
		}
		w.tick()
		w.showPod(p)
	}
	w.tick()
	p.existing = false
	if w.watched {
		w.losePod(p, end{w.clock, w.clock})
		w.tracker.delete(w.podObject(p), w.clock)
	}
	w.refer(p)
	for _, s := range p.stores {
		if s.ephemeral {
			w.dropClaim(s.claim)
		}
	}
	return true
}

// nodeGrace is how long before its deletion a pod whose kubelet has not reported the ends of its containers may have been dead.
const nodeGrace = 60 * second

// losePod notes that a pod is gone. Of a container that was not seen to end, only bounds are known.
func (w *world) losePod(p *pod, e end) {
	since := e.notBefore
	if e.notBefore != e.at {
		since = w.gapSince
	}
	for _, c := range p.containers {
		if c.seen.started != 0 && c.seen.end.at == 0 {
			c.seen.end = end{max(c.seen.started, since-nodeGrace), e.at}
			c.seen.reason = "Deleted"
		}
		e.notBefore = max(e.notBefore, c.seen.started, c.seen.end.notBefore)
	}
	p.gone = end{min(e.notBefore, e.at), e.at}
}

func (w *world) showPod(p *pod) {
	if w.watched {
		w.seePod(p)
		w.tracker.set(w.podObject(p), w.clock)
	}
}

// seePod notes what a tracker learns from a pod.
func (w *world) seePod(p *pod) {
	if p.scheduled != 0 && !p.seenScheduled {
		p.seenScheduled = true
		w.changes = append(w.changes, change{p.scheduled, p, "scheduled", "to node " + p.node})
	}
	p.known, p.seenPhase = true, p.phase
	for _, c := range p.containers {
		c.seen = c.life
	}
}

// measure lets a kubelet look at a volume.
func (w *world) measure() bool {
	p := any1(w, w.pods, func(p *pod) bool { return p.existing && p.phase == "Running" && p.asked == 0 })
	if p == nil || !w.watched {
		return false
	}
	s := pick(w, p.stores)
	if s.claim == nil || s.claim.volume == nil {
		return false
	}
	v, x := s.claim.volume, sample{used: w.rnd.Int64N(1 << 40), at: w.tick()}
	x.files = int64(x.at/second) % measuredFiles
	if n := len(v.samples); n > 0 {
		// Readers change nothing, and some writers only the number of files or the bytes.
		last := v.samples[n-1]
		switch x.at / second % 4 {
		case 0:
			x.used, x.files = last.used, last.files
		case 1:
			x.used = last.used
		case 2:
			x.files = last.files
		}
	}
	if n := len(v.samples); n == 0 || x.used != v.samples[n-1].used || x.files != v.samples[n-1].files {
		v.used, v.samples = x.used, append(v.samples, x)
	}
	w.tracker.measure(p, s, x)
	w.offer()
	return true
}
