package inventory

import (
	"cmp"
	"slices"
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Memory is what is known of an object and the object does not say itself: what
// was seen of it, or was once said by others. With the last version of the object
// (see Object) it is all that a new inventory needs to go on where another one
// ended. Times that do not concern the kind are absent.
type Memory struct {
	Kind Kind
	UID  string
	// Forgotten is true when neither the object nor this is of use any more.
	Forgotten bool `json:",omitempty"`
	// Deleted and NotBefore are set while it is gone, but still spoken of.
	Deleted   Time `json:",omitempty"`
	NotBefore Time `json:",omitempty"`

	// Of a volume: its last binding, and when it came into its phase.
	ClaimUID          string `json:",omitempty"`
	PhaseChanged      Time   `json:",omitempty"`
	ReleasedAt        Time   `json:",omitempty"`
	ReleasedNotBefore Time   `json:",omitempty"`
	// Of a volume and a claim: its binding, and its last use.
	BoundAt  Time `json:",omitempty"`
	LastUsed Time `json:",omitempty"`

	BindingOrdinal uint16          `json:",omitempty"`
	Bindings       []BindingMemory `json:",omitempty"` // those before it
	Status         VolumeStatus    `json:",omitempty"`
	StatusSince    Time            `json:",omitempty"`
	Space          *Space          `json:",omitempty"` // as a kubelet said last
	// Of a claim: its first and last version; of a pod: the one that showed its start.
	Born uint64 `json:",omitempty"`
	Died uint64 `json:",omitempty"`
	// Of a claim and a pod.
	WorkloadKind string `json:",omitempty"`
	WorkloadName string `json:",omitempty"`
	WorkloadUID  string `json:",omitempty"`

	// Of a pod: those that have started.
	Containers []ContainerMemory `json:",omitempty"`

	// Of an attachment.
	AttachedAt Time `json:",omitempty"`
}

// ContainerMemory is when a container of a pod was in use.
type ContainerMemory struct {
	Name       string
	StartedAt  Time
	FinishedAt Time   `json:",omitempty"`
	NotBefore  Time   `json:",omitempty"`
	Reason     string `json:",omitempty"`
}

// BindingMemory is when a claim had a volume.
type BindingMemory struct {
	ClaimUID          string
	Ordinal           uint16 `json:",omitempty"`
	BoundAt           Time   `json:",omitempty"`
	ReleasedAt        Time   `json:",omitempty"`
	ReleasedNotBefore Time   `json:",omitempty"`
	Hearsay           bool   `json:",omitempty"` // by the claim alone
}

// Recalled is an object as an earlier inventory held it.
type Recalled struct {
	Object any
	Memory Memory
	// Untold is true when rows of it may be missing: it was not told to the end.
	Untold bool
}

// Document returns the object's kind and UID, and itself as JSON (see ReadObject).
func (r *Recalled) Document() (kind Kind, uid, text string) {
	o := r.Object.(metav1.Object) // as all that ReadObject reads
	kind, uid, _ = identify(o)
	return kind, uid, document(o)
}

// subject is what has a memory.
type subject interface{ remember(inv *Inventory) Memory }

// memorable is a subject whose memory goes out with the next Take: once, however often it
// has changed by then.
type memorable struct{ listed bool }

func (m *memorable) list() *bool { return &m.listed }

// memorize has what is known of a subject given out anew.
func (inv *Inventory) memorize(s interface {
	subject
	list() *bool
}) {
	if listed := s.list(); !*listed {
		*listed = true
		inv.memorized = append(inv.memorized, s)
	}
}

// drown lets go of what was remembered of an object.
func (inv *Inventory) drown(kind Kind, uid string) {
	inv.memorized = append(inv.memorized, drowned{kind, uid})
}

type drowned struct {
	kind Kind
	uid  string
}

func (d drowned) remember(*Inventory) Memory {
	return Memory{Kind: d.kind, UID: d.uid, Forgotten: true}
}

// departed is a controller that is gone, but still spoken of.
type departed struct {
	kind Kind
	uid  string
	at   Time
}

func (d departed) remember(*Inventory) Memory { return Memory{Kind: d.kind, UID: d.uid, Deleted: d.at} }

// takeMemories moves what is to be remembered anew into u; of one object, the last
// one counts.
func (inv *Inventory) takeMemories(u *Update) {
	u.Memories = slices.Grow(u.Memories[:0], len(inv.memorized))
	for _, s := range inv.memorized {
		u.Memories = append(u.Memories, s.remember(inv))
	}
	inv.unlistMemories()
}

func (inv *Inventory) unlistMemories() {
	for _, s := range inv.memorized {
		if s, ok := s.(interface{ list() *bool }); ok {
			*s.list() = false
		}
	}
	inv.memorized = emptied(inv.memorized)
}

func (v *volume) remember(inv *Inventory) Memory {
	m := Memory{
		Kind: Volumes, UID: v.uid, Deleted: v.deleted, NotBefore: v.notBefore, ClaimUID: v.binding.claimUID,
		BoundAt: v.binding.bound, ReleasedAt: v.binding.released, ReleasedNotBefore: v.binding.notBefore,
		PhaseChanged: v.phaseChanged, LastUsed: v.lastUsed, BindingOrdinal: v.ordinal,
		Status: v.status, StatusSince: v.statusSince,
	}
	if space, ok := inv.spaces[v]; ok {
		m.Space = &space
	}
	for _, b := range inv.past[v] {
		m.Bindings = append(m.Bindings, BindingMemory{b.claimUID, b.ordinal, b.bound, b.released, b.notBefore, b.hearsay})
	}
	return m
}

func (v *volume) recall(inv *Inventory, m *Memory) {
	v.deleted, v.notBefore = m.Deleted, m.NotBefore
	v.phaseChanged = cmp.Or(v.phaseChanged, m.PhaseChanged)
	v.lastUsed = latest(v.lastUsed, m.LastUsed)
	if _, ok := inv.spaces[v]; !ok && m.Space != nil {
		inv.spaces[v] = *m.Space
	}
	if m.Status != "" {
		v.status, v.statusSince = m.Status, m.StatusSince
	}
	for _, b := range m.Bindings {
		inv.past[v] = append(inv.past[v], pastBinding{binding{b.ClaimUID, b.BoundAt, b.ReleasedAt, b.ReleasedNotBefore}, b.Ordinal, b.Hearsay})
	}
	// What was told may be ahead of the version that we have.
	phase := v.phase.Value()
	early := m.ReleasedAt == 0 && (phase == string(corev1.VolumePending) || phase == string(corev1.VolumeAvailable))
	if b := &v.binding; m.ClaimUID != "" && !early && (b.claimUID == "" || b.claimUID == m.ClaimUID) {
		*b = binding{
			claimUID: m.ClaimUID, bound: cmp.Or(b.bound, m.BoundAt), released: cmp.Or(b.released, m.ReleasedAt),
			notBefore: cmp.Or(b.notBefore, m.ReleasedNotBefore),
		}
		v.ordinal = max(v.ordinal, m.BindingOrdinal)
		if phase == string(corev1.VolumeBound) {
			b.released, b.notBefore = 0, 0
		}
	}
}

func (c *claim) remember(inv *Inventory) Memory {
	traits := c.traits.Value()
	return Memory{
		Kind: Claims, UID: c.uid, Deleted: c.deleted, NotBefore: c.noBefore, BoundAt: c.boundAt, LastUsed: c.lastUsed,
		Born: inv.lives[c].born, Died: inv.lives[c].died, WorkloadKind: traits.workloadKind, WorkloadName: traits.workloadName,
	}
}

func (c *claim) recall(inv *Inventory, m *Memory) {
	c.deleted, c.noBefore = m.Deleted, m.NotBefore
	c.boundAt = cmp.Or(c.boundAt, m.BoundAt)
	c.lastUsed = latest(c.lastUsed, m.LastUsed)
	if l := (life{m.Born, m.Died}); l != (life{}) {
		inv.lives[c] = l
	}
	if traits := c.traits.Value(); traits.workloadKind == "" && m.WorkloadKind != "" {
		traits.workloadKind, traits.workloadName = m.WorkloadKind, m.WorkloadName
		c.traits = unique.Make(traits)
	}
}

func (p *pod) remember(*Inventory) Memory {
	w := p.traits.Value().workload
	m := Memory{
		Kind: Pods, UID: p.uid, Deleted: p.deleted, NotBefore: p.notBefore, Born: uint64(p.startedIn),
		WorkloadKind: w.kind, WorkloadName: w.name, WorkloadUID: w.uid,
	}
	for i := range p.containers {
		if c := &p.containers[i]; c.started != 0 {
			m.Containers = append(m.Containers, ContainerMemory{
				Name: c.traits.Value().name, StartedAt: c.started, FinishedAt: c.finished, NotBefore: c.notBefore, Reason: textOf(c.reason),
			})
		}
	}
	return m
}

func (p *pod) recall(m *Memory) {
	p.deleted, p.notBefore, p.gone, p.startedIn = m.Deleted, m.NotBefore, m.Deleted != 0, uint32(m.Born)
	if traits := p.traits.Value(); m.WorkloadKind != "" {
		traits.workload = workload{m.WorkloadKind, m.WorkloadName, m.WorkloadUID}
		p.traits = unique.Make(traits)
	}
	for i := range p.containers {
		c := &p.containers[i]
		for _, had := range m.Containers {
			if had.Name != c.traits.Value().name {
				continue
			}
			c.started = earliest(c.started, had.StartedAt)
			if c.run.at == 0 && had.FinishedAt != 0 && p.over() {
				c.finished, c.notBefore, c.reason = had.FinishedAt, had.NotBefore, unique.Make(had.Reason)
			}
		}
	}
	p.started, p.finished = p.times(p.over())
}

func (a *attachment) remember(*Inventory) Memory {
	m := Memory{Kind: VolumeAttachments, UID: a.row.UID, Deleted: a.row.DetachedAt, AttachedAt: a.row.AttachedAt}
	m.Forgotten = m.Deleted != 0 && (a.row.VolumeUID != "" || a.volume == "") // its volume is not on its way
	return m
}

func (a *attachment) recall(m *Memory) {
	a.row.AttachedAt, a.row.DetachedAt = cmp.Or(m.AttachedAt, a.row.AttachedAt), m.Deleted
}

// Recall takes what an earlier inventory held, as Update gave it out: the last
// version of each object that is not forgotten, and its memory. An inventory that is
// empty goes on where the other one ended, and has nothing to tell but the present
// states. One that has been given objects already completes what it knows of those,
// and holds the others as living, until Delete or Replace says otherwise. What was not
// told to the end is told as if it was found now. Version is the highest one that was
// given out, now the moment.
//
// It is an error if an object is of no kind that the inventory takes; the others
// are taken.
func (inv *Inventory) Recall(list []Recalled, version uint64, now Time) (err error) {
	empty := inv.version == 0
	inv.version, inv.now = max(inv.version, version), now
	inv.begin("", "", Seen{At: now, Found: true})
	inv.recalling, inv.listing = true, true
	defer func() { inv.recalling, inv.listing = false, false }()
	order := map[Kind]int{}
	for i, kind := range Kinds() {
		order[kind] = i
	}
	// What is gone comes first, as it did: it may have left its name to another.
	slices.SortStableFunc(list, func(a, b Recalled) int {
		return cmp.Or(cmp.Compare(order[a.Memory.Kind], order[b.Memory.Kind]), cmp.Compare(b2i(a.Memory.Deleted == 0), b2i(b.Memory.Deleted == 0)))
	})
	had := len(inv.update.Facts.Changes)
	take := func(untold bool) {
		for i := range list {
			if list[i].Untold != untold {
				continue
			}
			if failure := inv.recall(&list[i]); failure != nil {
				err = failure
			}
		}
		inv.settle(Seen{At: inv.now, Found: true})
	}
	take(false)
	inv.update.Facts.Changes = inv.update.Facts.Changes[:had] // that was news once
	if empty {
		inv.update.Facts = Facts{}
		inv.unlistMemories()
	}
	take(true)
	return err
}

// Reconcile is Recall for what has been given its first lists meanwhile: what the
// earlier inventory held and the lists lacked is gone, since its kind was last seen.
func (inv *Inventory) Reconcile(list []Recalled, version uint64, now Time, lastSeen map[Kind]Time) error {
	var gone []Recalled
	for _, r := range list {
		if kind, uid, err := identify(r.Object); err == nil && !inv.held(kind).has(uid) {
			gone = append(gone, r)
		}
	}
	err := inv.Recall(list, version, now)
	for _, r := range gone {
		kind, uid, _ := identify(r.Object)
		inv.drop(kind, uid, Seen{At: now, NotBefore: lastSeen[kind]})
	}
	inv.settle(Live(now))
	return err
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// recall takes one object: noted as found, unless it is held already, and completed
// by its memory.
func (inv *Inventory) recall(r *Recalled) error {
	kind, uid, err := identify(r.Object)
	if err != nil {
		return err
	}
	if !inv.held(kind).has(uid) {
		inv.note(kind, r.Object, Seen{At: inv.now, Found: true})
	}
	if r.Memory.UID != uid {
		return nil // nothing is remembered of it
	}
	switch m := &r.Memory; kind {
	case Volumes:
		v := inv.volumes[uid]
		v.recall(inv, m)
		v.fresh = true
		inv.soilVolume(v)
		if v.deleted != 0 {
			delete(inv.volumes, uid)
			inv.graves = append(inv.graves, grave{at: v.deleted, volume: v})
		}
	case Claims:
		c := inv.claims[uid]
		c.recall(inv, m)
		c.fresh = true
		inv.soilClaim(c)
		if c.deleted != 0 {
			delete(inv.claims, uid)
			inv.graves = append(inv.graves, grave{at: c.deleted, claim: c})
		}
	case Pods:
		if p := inv.pods[uid]; p != nil {
			p.recall(m)
			p.fresh = true
			inv.soilPod(p)
			if p.gone {
				inv.unlist(p)
			}
		}
	case VolumeAttachments:
		a := inv.attachments[uid]
		a.recall(m)
		if m.Deleted != 0 {
			delete(inv.attachments, uid)
			inv.graves = append(inv.graves, grave{at: m.Deleted, attachment: a})
		}
		inv.tellAttachment(a, Seen{At: inv.now})
	default:
		if m.Deleted != 0 {
			inv.dropController(uid, Seen{At: m.Deleted})
		}
	}
	return nil
}

// textOf is a word's text, empty for the zero word.
func textOf(w word) string {
	if w == (word{}) {
		return ""
	}
	return w.Value()
}
