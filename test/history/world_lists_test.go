package history

import (
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// seeAll lets the tracker list all there is, after a gap or for the first time.
func (w *world) seeAll() {
	lists := map[fact.Kind][]any{}
	w.listVolumes(lists)
	w.listBindings()
	w.listClaims(lists)
	w.listPods(lists)
	w.listControllers(lists)
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

// listBindings notes the ends of bindings by what they left.
func (w *world) listBindings() {
	for _, b := range w.bindings {
		b.known = b.known || b.volume.existing && b.claim.existing
		switch {
		case !b.known || b.released.at != 0:
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
			c.gone = w.unwatched(c.created, created[[2]string{c.namespace, c.name}])
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
