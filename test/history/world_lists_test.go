package history

import (
	"slices"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// seeAll lets the tracker list all there is, after a gap or for the first time.
func (w *world) seeAll() {
	lists := map[fact.Kind][]any{}
	w.listVolumes(lists)
	w.listBindings()
	w.listClaims(lists)
	w.listPods(lists)
	w.listAttachments(lists)
	w.listControllers(lists)
	w.listNodes(lists)
	w.listCapacities(lists)
	w.tracker.list(lists, w.clock, w.gapSince, w.spans)
}

// unwatched is the end of what ended while nobody watched. The API server gives a name to a successor only then.
func (w *world) unwatched(born, successor fact.Time) end {
	e := end{max(w.gapSince, born), w.clock}
	if until := successor + second - 1; successor != 0 && until > w.gapSince && until < e.at {
		e.at = max(until, e.notBefore)
	}
	return e
}

func (w *world) listVolumes(lists map[fact.Kind][]any) {
	created := map[string]fact.Time{}
	for _, v := range w.volumes {
		if v.touched = false; v.existing {
			created[v.name] = v.created
			w.guessPhase(v)
			w.seeVolume(v)
			lists[fact.Volumes] = append(lists[fact.Volumes], w.volumeObject(v))
		}
	}
	for _, v := range w.volumes {
		if v.known && !v.existing && v.gone.at == 0 {
			v.gone = w.unwatched(v.created, created[v.name])
		}
	}
}

// guessPhase notes when a volume came into its phase at the latest, if it does not say that itself.
func (w *world) guessPhase(v *volume) {
	n := len(v.versions)
	switch {
	case !w.old:
	case n == 0 && w.gapSince == 0:
		v.phaseAt = 0
	case n > 0 && v.versions[n-1].phase == v.phase && (v.versions[n-1].claim == v.claim || v.phase != "Bound"):
		v.phaseAt = v.versions[n-1].phaseAt
	default:
		v.phaseAt = w.clock
	}
}

// joinBindings takes two bindings for one if nothing shows that the first one ended.
func (w *world) joinBindings() {
	for _, b := range w.bindings {
		if b.trace == boundAgain && b.released.at == 0 && b.known {
			b.trace = nothing
			w.bindings = slices.DeleteFunc(w.bindings, func(o *binding) bool { return !o.known && o.volume == b.volume && o.claim == b.claim })
			b.claim.bound = b.bound
			return
		}
	}
}

// listBindings notes the ends of bindings by what they left.
func (w *world) listBindings() {
	if w.old {
		for range w.bindings {
			w.joinBindings()
		}
	}
	for _, b := range w.bindings {
		if !b.known && b.volume.existing && b.claim.existing {
			b.known = true
			if w.old {
				b.bound, b.claim.bound = b.volume.phaseAt, b.volume.phaseAt
			}
		}
		switch {
		case !b.known || b.released.at != 0:
		case b.trace == phaseReleased && w.old:
			b.released = end{max(w.gapSince, b.bound), w.clock}
		case b.trace == phaseReleased:
			b.released = end{b.volume.phaseAt, b.volume.phaseAt}
		case b.trace == boundAgain:
			b.released = end{b.bound, b.volume.phaseAt}
		case b.trace == volumeGone:
			b.released = end{max(w.gapSince, b.bound), w.clock}
		}
	}
}

func (w *world) listClaims(lists map[fact.Kind][]any) {
	created := map[[2]string]fact.Time{}
	for _, c := range w.claims {
		if c.touched = false; c.existing {
			created[[2]string{c.namespace, c.name}] = c.created
			w.seeClaim(c)
			lists[fact.Claims] = append(lists[fact.Claims], w.claimObject(c))
		}
	}
	for _, c := range w.claims {
		if c.known && !c.existing && c.gone.at == 0 {
			c.gone = w.unwatched(max(c.created, c.seenDeletion()), created[[2]string{c.namespace, c.name}])
		}
	}
}

func (w *world) listPods(lists map[fact.Kind][]any) {
	created := map[[2]string]fact.Time{}
	for _, p := range w.pods {
		if p.existing {
			created[[2]string{p.namespace, p.name}] = p.created
			w.seePod(p)
			lists[fact.Pods] = append(lists[fact.Pods], w.podObject(p))
		}
	}
	for _, p := range w.pods {
		if p.known && !p.existing && p.gone.at == 0 {
			w.losePod(p, w.unwatched(p.created, created[[2]string{p.namespace, p.name}]))
		}
	}
}
