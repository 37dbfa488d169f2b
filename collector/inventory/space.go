package inventory

import "github.com/kubevoltracker/kubevoltracker/collector/fact"

// Sample is what a kubelet says of a volume of one of its pods.
type Sample struct {
	PodUID string
	Volume string    // its name in the pod
	At     fact.Time // when the kubelet looked, by its node's clock
	fact.Space
}

// NodesInUse are the names of the nodes on which pods that run mount volumes of claims: the
// kubelets that know how full those are.
func (inv *Inventory) NodesInUse() map[string]struct{} {
	nodes := map[string]struct{}{}
	for _, p := range inv.pods {
		if p.started == 0 || p.over() {
			continue
		}
		for i := range p.volumes {
			if p.volumes[i].claim != nil {
				nodes[p.node.Value()] = struct{}{}
				break
			}
		}
	}
	return nodes
}

// Measure takes what kubelets say. What differs from what is known goes out; the last that was
// known of a volume is kept while nobody uses it, when no kubelet can say.
func (inv *Inventory) Measure(samples []Sample, now fact.Time) {
	inv.begin("", "", Live(now))
	for i := range samples {
		s := &samples[i]
		c, v := inv.measured(s)
		if v == nil {
			continue
		}
		if known, ok := inv.spaces[v]; ok && known == s.Space {
			continue
		}
		inv.spaces[v] = s.Space
		inv.markSnapshot(v)
		inv.markVolumeState(v)
		inv.update.Facts.Usage = append(inv.update.Facts.Usage, fact.Usage{At: min(s.At, now), ClaimUID: c.uid, VolumeUID: v.uid, Space: s.Space})
	}
	inv.sync(Live(now))
}

// measured is the claim and the volume that a sample is of; nil if they are not known.
func (inv *Inventory) measured(s *Sample) (*claim, *volume) {
	p := inv.pods[s.PodUID]
	if p == nil {
		return nil, nil
	}
	u := p.volume(s.Volume)
	if u == nil || u.claim == nil {
		return nil, nil
	}
	return u.claim, u.volume
}

// volume is the pod's volume of that name, nil if it has none.
func (p *pod) volume(name string) *podVolume {
	for i := range p.volumes {
		if p.volumes[i].name.Value() == name {
			return &p.volumes[i]
		}
	}
	return nil
}
