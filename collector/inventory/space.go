package inventory

import "github.com/kubevoltracker/kubevoltracker/collector/fact"

// Sample is a kubelet's report on a volume of one of its pods.
type Sample struct {
	PodUID string
	Volume string    // the volume's name in the pod
	At     fact.Time // when the kubelet measured, by its node's clock
	fact.Space
}

// NodesInUse returns the names of the nodes whose running pods mount volumes of claims: their
// kubelets know how full those volumes are.
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

// Measure takes the reports of kubelets, and emits those that differ from the last known values. A
// volume keeps its last value while nobody uses it, because no kubelet reports it then.
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

// measured returns the claim and the volume of a sample; nil if they are not known.
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
