package exporter

import (
	"iter"
	"slices"
	"strings"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// The phases of a claim, as indices of group.phases. A claim that has no phase yet is pending.
const (
	phasePending = iota
	phaseBound
	phaseLost
	phaseCount
)

func phaseOf(s string) uint8 {
	switch s {
	case "Bound":
		return phaseBound
	case "Lost":
		return phaseLost
	default:
		return phasePending
	}
}

// groupKey is the key of the aggregates.
type groupKey struct{ namespace, storageClass string }

// group sums the claims and volumes of one namespace and storage class. It is a
// plain value, so that a scrape can copy it under the lock and render the copy.
type group struct {
	groupKey
	phases         [phaseCount]int32 // claims
	requestedBytes total
	capacityBytes  total
	volumes        int32 // that name the namespace, whatever their state
	idleVolumes    int32
	idleBytes      total
	usedBytes      total     // of bound volumes
	measured       int32     // bound volumes of which a kubelet has reported the usage
	unmeasured     int32     // bound volumes that were used, and of which no kubelet has
	pendingSince   fact.Time // of the claim that has waited longest; 0 if none waits
}

func (g *group) claims() int32 {
	return g.phases[phasePending] + g.phases[phaseBound] + g.phases[phaseLost]
}

// measuredAll reports whether usedBytes is the used space of all volumes: that of block devices is not known to
// kubelets, and a volume of which no use is known counts as empty.
func (g *group) measuredAll() bool { return g.measured > 0 && g.unmeasured == 0 }

// claim is the contribution of one claim to its group.
type claim struct {
	group          *group
	requestedBytes int64
	capacityBytes  int64
	since          fact.Time // a pending claim waits since then, or not if 0; the capacity counts since then
	endedBinding   fact.Time // BoundAt when its capacity ceased to count, which is not that of a later binding; 0 if it did not
	phase          uint8
	counts         bool // its capacity counts
}

func (c *claim) waits() bool { return c.phase == phasePending && c.since != 0 }

// share is the contribution of one volume to its group; group is nil for a volume that never had a
// claim.
type share struct {
	group     *group
	idleBytes int64
	usedBytes int64
	since     fact.Time // of the volume's status
	idle      bool
	// measured and unmeasured are false for a volume that has no part in the used space of the group.
	measured, unmeasured bool
}

// namespaces maintains the sums per namespace and storage class: it replaces the earlier
// contribution of an object with the present one. The Exporter's lock guards it.
type namespaces struct {
	groups map[groupKey]*group
	claims map[string]claim // by UID
	// waiting are the claims that wait, and since when. They are few. Unlike a sum, a minimum
	// cannot be updated by subtraction, so all of them are stored.
	waiting map[*group]map[string]fact.Time
	tally   *Tally // has the byte-seconds
}

func newNamespaces() namespaces {
	return namespaces{groups: map[groupKey]*group{}, claims: map[string]claim{}, waiting: map[*group]map[string]fact.Time{}}
}

// applyClaim applies a claim's present state as of a moment.
func (n *namespaces) applyClaim(c *fact.ClaimState, at fact.Time) {
	old, known := n.claims[c.UID]
	if known {
		old.group.phases[old.phase]--
		old.group.requestedBytes.subtract(old.requestedBytes)
		old.group.capacityBytes.subtract(old.capacityBytes)
		if old.waits() {
			n.waitNoMore(old.group, c.UID)
		}
	}
	if c.Gone {
		n.countCapacity(&old, &claim{}, c, at)
		delete(n.claims, c.UID)
	} else {
		g := n.group(c.Namespace, c.StorageClass)
		now := claim{group: g, requestedBytes: c.RequestedBytes, since: c.PendingSince, phase: phaseOf(c.Phase)}
		if now.phase == phaseBound {
			now.capacityBytes = c.CapacityBytes
		}
		n.countCapacity(&old, &now, c, at)
		g.phases[now.phase]++
		g.requestedBytes.add(now.requestedBytes)
		g.capacityBytes.add(now.capacityBytes)
		n.claims[c.UID] = now
		if now.waits() {
			n.wait(g, c.UID, now.since)
		}
	}
	if known {
		n.drop(old.group)
	}
}

// wait and waitNoMore maintain the waiting claims of a group, and since when the longest has
// waited.
func (n *namespaces) wait(g *group, uid string, since fact.Time) {
	if n.waiting[g] == nil {
		n.waiting[g] = map[string]fact.Time{}
	}
	n.waiting[g][uid] = since
	if g.pendingSince == 0 || since < g.pendingSince {
		g.pendingSince = since
	}
}

func (n *namespaces) waitNoMore(g *group, uid string) {
	since := n.waiting[g][uid]
	delete(n.waiting[g], uid)
	if since != g.pendingSince {
		return
	}
	g.pendingSince = 0
	for _, other := range n.waiting[g] {
		if g.pendingSince == 0 || other < g.pendingSince {
			g.pendingSince = other
		}
	}
	if g.pendingSince == 0 {
		delete(n.waiting, g)
	}
}

// addVolume counts a volume for the namespace and the storage class of its claim.
func (n *namespaces) addVolume(v *fact.VolumeState) share {
	if v.Namespace == "" {
		return share{}
	}
	s := share{group: n.group(v.Namespace, v.ClaimClass), since: v.ChangedAt}
	s.group.volumes++
	// Both states mean bound, and neither used nor awaited.
	if v.Status == fact.VolumeIdle || v.Status == fact.VolumeNeverMounted {
		s.idle, s.idleBytes = true, v.CapacityBytes
		s.group.idleVolumes++
		s.group.idleBytes.add(s.idleBytes)
	}
	switch {
	case !bound(v.Status):
	case v.Measured:
		s.measured, s.usedBytes = true, v.UsedBytes
		s.group.measured++
		s.group.usedBytes.add(s.usedBytes)
	case v.Used && !v.Block:
		s.unmeasured = true
		s.group.unmeasured++
	}
	return s
}

// bound reports whether a volume in this state belongs to an existing claim.
func bound(status fact.VolumeStatus) bool {
	switch status {
	case fact.VolumeAvailable, fact.VolumeReleased, fact.VolumeFailed:
		return false
	default:
		return true
	}
}

// removeVolume subtracts what addVolume added.
func (n *namespaces) removeVolume(s share) {
	if s.group == nil {
		return
	}
	s.group.volumes--
	if s.idle {
		s.group.idleVolumes--
		s.group.idleBytes.subtract(s.idleBytes)
	}
	if s.measured {
		s.group.measured--
		s.group.usedBytes.subtract(s.usedBytes)
	}
	if s.unmeasured {
		s.group.unmeasured--
	}
	n.drop(s.group)
}

func (n *namespaces) group(namespace, storageClass string) *group {
	k := groupKey{namespace, storageClass}
	g := n.groups[k]
	if g == nil {
		g = &group{groupKey: k}
		n.groups[k] = g
	}
	return g
}

// drop removes a group without claims and volumes.
func (n *namespaces) drop(g *group) {
	if g.claims() == 0 && g.volumes == 0 {
		delete(n.groups, g.groupKey)
	}
}

// present copies the groups to expose: those with a claim. Groups that only released volumes refer
// to are left out.
func (n *namespaces) present() []group {
	out := make([]group, 0, len(n.groups))
	for _, g := range n.groups {
		if g.claims() > 0 {
			out = append(out, *g)
		}
	}
	return out
}

// namespaceSeries renders copied groups as families.
func namespaceSeries(groups []group, now fact.Time) []family {
	slices.SortFunc(groups, func(a, b group) int {
		if c := strings.Compare(a.namespace, b.namespace); c != 0 {
			return c
		}
		return strings.Compare(a.storageClass, b.storageClass)
	})
	out := make([]family, len(namespaceFamilies))
	for i, f := range namespaceFamilies {
		out[i] = family{name: f.name, help: f.help, lines: namespaceLines(groups, f.samples, now)}
	}
	return out
}

func namespaceLines(groups []group, samples []namespaceSample, now fact.Time) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var b []byte
		for i := range groups {
			g := &groups[i]
			for _, s := range samples {
				if s.known != nil && !s.known(g) {
					continue
				}
				b = appendLabel(append(b[:0], '{'), "namespace", g.namespace)
				b = appendLabel(append(b, ','), "storageclass", g.storageClass)
				if s.phase != "" {
					b = appendLabel(append(b, ','), "phase", s.phase)
				}
				b = appendTotal(b, s.value(g, now))
				if !yield(b) {
					return
				}
			}
		}
	}
}
