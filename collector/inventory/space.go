package inventory

import "github.com/kubevoltracker/kubevoltracker/collector/fact"

// Sample is a kubelet's report on a volume of one of its pods. Kubelets are not trusted: Refusal
// checks a sample against what the API server says of the pod.
type Sample struct {
	Node                   string // whose kubelet was asked
	PodUID, Namespace, Pod string
	Volume                 string    // the volume's name in the pod
	ClaimNamespace, Claim  string    // that the volume is of
	At                     fact.Time // when the kubelet measured, by its node's clock
	fact.Space
}

// Refusal is the reason why a sample does not count.
type Refusal string

// The reasons; Accepted is none.
const (
	Accepted     Refusal = ""
	RefusedPod   Refusal = "pod"   // no such pod runs
	RefusedNode  Refusal = "node"  // the pod is on another node
	RefusedClaim Refusal = "claim" // the pod has another name, or its volume is of another claim or of none
	RefusedTime  Refusal = "time"  // measured in the future, or before the pod was created
)

// Refusals returns all reasons.
func Refusals() []Refusal {
	return []Refusal{RefusedPod, RefusedNode, RefusedClaim, RefusedTime}
}

// measureSlack is how far a node's clock may be off: 60 s, the time between two measurements of a
// kubelet (volumeStatsAggPeriod). A report is off by as much for its age alone.
const measureSlack = fact.Time(60_000_000)

// measurement is the last accepted report on a volume.
type measurement struct {
	fact.Space
	at fact.Time // 0 if it was restored
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

// Refusal returns why a sample does not count. A node writes its own Node and the status of its
// pods, but neither to which node a pod is bound nor which claims it uses. A node can therefore
// report only the volumes of its own pods, and not those of ended pods, which others may use now.
func (inv *Inventory) Refusal(s *Sample, now fact.Time) Refusal {
	p := inv.pods[s.PodUID]
	switch {
	case p == nil || p.over():
		return RefusedPod
	case p.node.Value() != s.Node:
		return RefusedNode
	case p.name != name{s.Namespace, s.Pod} || p.namespace != s.ClaimNamespace:
		return RefusedClaim
	case s.At > now+measureSlack || s.At+measureSlack < p.created:
		return RefusedTime
	}
	if u := p.volume(s.Volume); u == nil || u.claimName != s.Claim {
		return RefusedClaim
	}
	return Accepted
}

// Measure takes the reports of kubelets, and emits those that differ from the last known values. It
// skips those that are refused, and those that are older than the last one. A volume keeps its last
// value while nobody uses it, because no kubelet reports it then.
func (inv *Inventory) Measure(samples []Sample, now fact.Time) {
	inv.begin("", "", Live(now))
	for i := range samples {
		s := &samples[i]
		if inv.Refusal(s, now) != Accepted {
			continue
		}
		u := inv.pods[s.PodUID].volume(s.Volume)
		if u.claim == nil || u.volume == nil {
			continue // not known yet
		}
		if u.volume.block() {
			continue // a kubelet knows only its size, and reports 0 for all else (volume_stat_calculator.go)
		}
		v, at := u.volume, min(s.At, now)
		known, ok := inv.spaces[v]
		if ok && at < known.at && known.at <= now { // otherwise the tracker's own clock was ahead
			continue
		}
		inv.spaces[v] = measurement{s.Space, at}
		if ok && known.Space == s.Space {
			continue
		}
		inv.markSnapshot(v)
		inv.markVolumeState(v)
		inv.update.Facts.Usage = append(inv.update.Facts.Usage, fact.Usage{At: at, Namespace: u.claim.name.namespace, ClaimUID: u.claim.uid, VolumeUID: v.uid, Space: s.Space})
	}
	inv.sync(Live(now))
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
