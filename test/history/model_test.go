package history

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

const second = fact.Time(1_000_000)

// now is the moment at which the reports are asked.
func now() fact.Time { return fact.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)) }

// end is when something ended: between two moments, which are equal if somebody watched it. It is zero while it lasts.
type end struct{ notBefore, at fact.Time }

// unsure returns notBefore where it differs from at, as the reports show it.
func (e end) unsure() fact.Time {
	if e.notBefore == e.at {
		return 0
	}
	return e.notBefore
}

// source is a backing store.
type source struct{ kind, driver, server, path string }

// backend is a backing store as reports show it.
func (s source) backend() string {
	switch s.kind {
	case "csi":
		return s.driver + " " + s.path
	case "nfs":
		return s.server + ":" + s.path
	}
	return s.path
}

// model is what a catalog can know of a cluster.
type model struct {
	cluster    string
	old        bool // Kubernetes before 1.28: volumes do not say when their phase changed
	volumes    []*volume
	claims     []*claim
	pods       []*pod
	bindings   []*binding
	resizes    []resize
	changes    []change // others
	capacities []*capacity
	nodes      []*node
	attached   []*attachment
	hidden     []fact.Kind    // what the tracker may not list
	spans      [][2]fact.Time // watched
	classes    []string
	namespaces []string
	born       fact.Time // of the classes, namespaces and first nodes
}

type volume struct {
	uid, name, class, policy string
	source                   source
	size                     int64
	phase                    string
	phaseAt                  fact.Time
	claim                    *claim // of its claimRef
	created                  fact.Time
	gone                     end
	used                     int64 // as a kubelet measured last; negative if none did
	known                    bool  // a tracker knows it
	affinity                 []requirement
	modes                    []corev1.PersistentVolumeAccessMode

	versions []version
	samples  []sample
	unseen   fact.Time // end of a use that only a former condition Unused of its claim showed
	touched  bool      // changed while nobody watched
	existing bool
}

// version is a volume as a tracker observed it.
type version struct {
	at, phaseAt fact.Time
	size        int64
	phase       string
	claim       *claim
}

// claimVersion is a claim as a tracker observed it.
type claimVersion struct {
	at, unused          fact.Time
	requested, capacity int64
	phase, owner        string
	groups              string
	volume              *volume
}

// sample is what a kubelet measured that differed from before.
type sample struct {
	at          fact.Time
	used, files int64
}

// The size of each file system that kubelets measure, and how many files fit.
const (
	measuredBytes = 1 << 40
	measuredFiles = 1000
)

type claim struct {
	uid, namespace, name, class, owner string
	groups                             []string
	requested, capacity                int64
	phase                              string
	volume                             *volume
	pod                                *pod   // for which it was made
	kind, workload                     string // of the StatefulSet for which it was made; else empty
	created, bound, lostAt             fact.Time
	gone                               end
	known                              bool
	modes                              []corev1.PersistentVolumeAccessMode
	asked                              fact.Time // when its deletion was requested
	seenAsked                          bool

	seenRequested, seenCapacity int64 // as a tracker observed last
	seenPhase                   string
	touched, existing           bool
	unused, seenUnused          fact.Time // since when no pod refers to it, where the API server says so
	versions                    []claimVersion
}

type pod struct {
	uid, namespace, name, node, owner string
	groups                            []string
	kind, workload                    string // empty without a controller
	phase                             string
	created                           fact.Time
	gone                              end
	containers                        []*container
	stores                            []store
	known, existing                   bool

	scheduled, asked fact.Time // asked is when its deletion was requested
	restarts         bool      // its containers are restarted
	seenPhase        string
	seenScheduled    bool
}

// workloadName is the pod's workload as most reports show it.
func (p *pod) workloadName() string {
	if p.workload == "" {
		return "Pod/" + p.name
	}
	return p.kind + "/" + p.workload
}

// started returns the first start of the pod's containers.
func (p *pod) started() (first fact.Time) {
	for _, c := range p.containers {
		if c.seen.started != 0 && (first == 0 || c.seen.started < first) {
			first = c.seen.started
		}
	}
	return first
}

// finished returns the last end of the pod's containers once all have ended.
func (p *pod) finished() (last fact.Time) {
	for _, c := range p.containers {
		over := p.gone.at != 0 || p.seenPhase == "Succeeded" || p.seenPhase == "Failed"
		switch {
		case c.seen.started == 0 && (over || c.kind != "main"):
		case c.seen.end.at == 0:
			return 0
		}
		last = max(last, c.seen.end.at)
	}
	return last
}

// store is a volume of a pod's spec.
type store struct {
	name      string
	claim     *claim
	claimName string
	ephemeral bool
	source    source // without a claim
}

type container struct {
	name, kind string
	mounts     []mountPoint
	// As they are, and as a tracker knows them.
	life, seen containerLife
	restarted  fact.Time
}

type containerLife struct {
	started fact.Time
	end     end
	reason  string
}

type mountPoint struct {
	store    int // index into the pod's stores
	path     string
	readOnly bool
}

type binding struct {
	claim    *claim
	volume   *volume
	bound    fact.Time
	released end
	known    bool
	trace    trace // what its end left
}

type resize struct {
	at             fact.Time
	volume         *volume
	claim          *claim // if it is not a volume's
	action         string
	before, behind string // the sizes
}

// mount is one container's use of one volume.
type mount struct {
	m         *model
	pod       *pod
	container *container
	store     store
	point     mountPoint
}

func (m mount) started() fact.Time { return m.container.seen.started }
func (m mount) ended() end         { return m.container.seen.end }

// volume returns the volume that is mounted; nil if it is none of a claim's.
func (m mount) volume() *volume {
	if m.store.claim == nil {
		return nil
	}
	return m.store.claim.volume
}

func (m mount) source() source {
	if v := m.volume(); v != nil {
		return v.source
	}
	return m.store.source
}

// owner is that of the pod, else of its claim.
func (m mount) owner() string {
	if c := m.store.claim; m.pod.owner == "" && c != nil {
		return c.owner
	}
	return m.pod.owner
}

func (m mount) groups() []string {
	if c := m.store.claim; len(m.pod.groups) == 0 && c != nil {
		return c.groups
	}
	return m.pod.groups
}

func (m mount) class() string {
	c := m.store.claim
	switch {
	case c == nil:
		return ""
	case c.volume != nil && c.volume.class != "":
		return c.volume.class
	}
	return c.class
}

func (m mount) volumeName() string {
	if v := m.volume(); v != nil {
		return v.name
	}
	return ""
}

// mounts returns all mounts that are known.
func (m *model) mounts() (list []mount) {
	for _, p := range m.pods {
		for _, c := range p.containers {
			if !p.known || c.seen.started == 0 {
				continue
			}
			for _, point := range c.mounts {
				list = append(list, mount{m, p, c, p.stores[point.store], point})
			}
		}
	}
	return list
}

// use sums up the mounts of a volume: whether it is in use now, else its last use.
func (m *model) use(v *volume) (inUse bool, last *mount) {
	for _, u := range m.mounts() {
		switch {
		case u.volume() != v:
		case u.ended().at == 0:
			inUse = true
		case last == nil || later(u, *last):
			last = &u
		}
	}
	return inUse, last
}

// awaited reports whether a pod that has not started waits for a volume: it is of the claim that has the volume.
func (m *model) awaited(v *volume) bool {
	return slices.ContainsFunc(m.pods, func(p *pod) bool {
		over := p.gone.at != 0 || p.seenPhase == "Succeeded" || p.seenPhase == "Failed"
		began := func(c *container) bool { return c.kind == "main" && c.seen.started != 0 }
		return p.known && !over && !slices.ContainsFunc(p.containers, began) &&
			slices.ContainsFunc(p.stores, func(s store) bool { return s.claim != nil && s.claim == v.claim })
	})
}

// slack is how long controllers may take to write the condition Unused.
const slack = 10 * second

// wasWatched reports whether pods were watched when a condition Unused is dated, so that a use after since would be known.
func (m *model) wasWatched(since, unused fact.Time) bool {
	for _, s := range m.spans {
		within := s[0] <= unused && (s[1] == 0 || unused <= s[1])
		if within && (s[0] < since+second || unused > s[0]+slack) {
			return true
		}
	}
	return false
}

// idleSince returns since when a volume that is not in use is idle, without its claim's present condition Unused, and
// whether a use of it is known.
func (m *model) idleSince(v *volume, last *mount) (since fact.Time, used bool) {
	if last != nil {
		since, used = last.ended().at, true
	}
	if v.unseen > since+slack {
		return v.unseen, true
	}
	if b := m.lastBinding(v); !used && b != nil {
		return max(v.created, m.boundNotBefore(v, b)), false
	}
	return max(v.created, since), used
}

// boundNotBefore returns the earliest that a volume can have been bound. Before Kubernetes 1.28 nobody tells when that was: a
// tracker that finds it bound knows that it was not when it looked away.
func (m *model) boundNotBefore(v *volume, b *binding) fact.Time {
	for i, s := range m.spans {
		if m.old && i > 0 && v.phase == "Bound" && b.bound == s[0] {
			return m.spans[i-1][1]
		}
	}
	return b.bound
}

// later reports whether use a is the last one rather than b.
func later(a, b mount) bool {
	return cmp.Or(cmp.Compare(a.ended().at, b.ended().at), cmp.Compare(a.started(), b.started()), cmp.Compare(a.pod.uid, b.pod.uid)) > 0
}

// hadVolumes returns the volumes that a name, UID, handle or NAMESPACE/CLAIM stands for.
func (m *model) hadVolumes(name string) (list []*volume) {
	for _, v := range m.volumes {
		handle := v.source.kind == "csi" && v.source.path == name
		if v.known && (v.name == name || v.uid == name || handle || m.wasOf(v, name)) {
			list = append(list, v)
		}
	}
	return list
}

// wasOf reports whether a claim of a name, as NAMESPACE/NAME, has or had a volume.
func (m *model) wasOf(v *volume, name string) bool {
	is := func(c *claim) bool { return c.known && c.namespace+"/"+c.name == name }
	return slices.ContainsFunc(m.claims, func(c *claim) bool { return c.volume == v && is(c) }) ||
		slices.ContainsFunc(m.bindings, func(b *binding) bool { return b.known && b.volume == v && is(b.claim) })
}

// filters are the flags that choose rows; an empty one chooses all.
type filters struct{ cluster, namespace, owner, group, class, workload string }

func (f filters) takes(m *model, namespace, owner string, groups []string, class string) bool {
	is := func(flag, value string) bool { return flag == "" || flag == value }
	return is(f.cluster, m.cluster) && is(f.namespace, namespace) && is(f.owner, owner) && is(f.class, class) &&
		(f.group == "" || slices.Contains(groups, f.group))
}

// takesUse chooses a mount.
func (f filters) takesUse(u mount) bool {
	return f.takes(u.m, u.pod.namespace, u.owner(), u.groups(), u.class()) && f.takesPod(u.pod)
}

// takesPod chooses a pod by its workload alone.
func (f filters) takesPod(p *pod) bool {
	_, name, _ := strings.Cut(p.workloadName(), "/")
	return f.workload == "" || f.workload == p.workloadName() || f.workload == name
}

// window is the time that a report looks at; both ends are the same for a moment.
type window struct{ since, until fact.Time }

// overlaps reports whether a life lies in the window. began is zero if it is not known.
func (w window) overlaps(began, ended fact.Time) bool {
	return began <= w.until && (ended == 0 || ended > w.since)
}
