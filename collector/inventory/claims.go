package inventory

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/intern"
)

// claim is a PersistentVolumeClaim. It is found by its pods under its name, and
// finds its volume under its UID, in the volume's claimRef.
type claim struct {
	uid  string
	name name
	claimSpec
	labels                     intern.Labels
	volume                     *volume // sticky: once known it is kept, also when the volume is gone
	boundAt, deleted, noBefore fact.Time

	// What its pods make of it, counted in and out by countUse.
	active, pending int32     // containers that use it; pods that have not started yet
	lastUsed        fact.Time // end of the last mount

	emitted             uint64 // hash of the ClaimState that went out last; 0 for none
	announced           bool   // the change "bound" has gone out
	fresh, dirty, stale bool
	memorable
}

// claimSpec is what the API says of a claim and can change.
type claimSpec struct {
	traits              unique.Handle[claimTraits]
	annotations         unique.Handle[intern.Labels]
	phase               intern.Word
	volumeName          string
	podUID              intern.Word // zero but for an ephemeral volume's
	requested, capacity int64
	unusedSince         fact.Time
	created             fact.Time
	deleting            fact.Time // when its deletion was asked for
	unused              verdict
}

// verdict is what the API says by its condition Unused.
type verdict int8

// The verdicts; silent is that of an API server without the condition.
const (
	silent verdict = iota
	used
	unused
)

// claimTraits is what many claims have in common.
type claimTraits struct {
	class, accessModes, mode, owner, groups, workloadKind, workloadName, dataSourceKind, dataSourceName string

	attributesClass, currentAttributesClass string
	conditions                              string // those that are true, and how far a resize is
}

// unusedCondition is the claim's condition of KEP-5541: True while no pod, not
// even a pending one, refers to the claim.
const unusedCondition corev1.PersistentVolumeClaimConditionType = "Unused"

func (c *claim) volumeUID() string {
	if c.volume == nil {
		return ""
	}
	return c.volume.uid
}

func (c *claim) row(version uint64, annotations fact.Labels) fact.Claim {
	traits := c.traits.Value()
	return fact.Claim{
		Version: version, UID: c.uid, Namespace: c.name.namespace, Name: c.name.name, StorageClass: traits.class,
		VolumeUID: c.volumeUID(), VolumeName: c.volumeName, RequestedBytes: c.requested, CapacityBytes: c.capacity,
		AccessModes: intern.Split(traits.accessModes), VolumeMode: traits.mode, Phase: c.phase.Value(), Owner: traits.owner,
		Groups: intern.Split(traits.groups), Ephemeral: c.podUID != intern.Word{}, PodUID: intern.Text(c.podUID), WorkloadKind: traits.workloadKind,
		WorkloadName: traits.workloadName, DataSourceKind: traits.dataSourceKind, DataSourceName: traits.dataSourceName,
		AttributesClass: traits.attributesClass, CurrentAttributesClass: traits.currentAttributesClass,
		Conditions: intern.Split(traits.conditions), SelectedNode: c.selectedNode(),
		UnusedSince: c.unusedSince, Labels: c.labels.Unpack(), Annotations: annotations,
		CreatedAt: c.created, BoundAt: c.boundAt, DeletedAt: c.deleted, DeletedNotBefore: c.noBefore,
	}
}

// read returns what the API says now.
func (c *claim) read(o *corev1.PersistentVolumeClaim) claimSpec {
	traits := claimTraits{
		class: claimClass(o), accessModes: intern.Join(o.Spec.AccessModes), mode: volumeMode(o.Spec.VolumeMode),
		owner: ownerOf(o.Labels, o.Annotations), groups: intern.Join(groupsOf(o.Labels, o.Annotations)),
		attributesClass: deref(o.Spec.VolumeAttributesClassName), currentAttributesClass: deref(o.Status.CurrentVolumeAttributesClassName),
		conditions: claimConditions(o),
	}
	spec := claimSpec{
		annotations: intern.RepackShared(c.annotations, o.Annotations),
		phase:       unique.Make(string(o.Status.Phase)),
		volumeName:  o.Spec.VolumeName,
		requested:   o.Spec.Resources.Requests.Storage().Value(),
		capacity:    o.Status.Capacity.Storage().Value(),
		created:     apiTime(o.CreationTimestamp),
		deleting:    deletionAsked(o),
	}
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil && ref.Kind == string(fact.Pods) {
		spec.podUID = unique.Make(string(ref.UID))
	} else {
		w := claimWorkload(o)
		traits.workloadKind, traits.workloadName = w.kind, w.name
	}
	switch {
	case o.Spec.DataSourceRef != nil:
		traits.dataSourceKind, traits.dataSourceName = o.Spec.DataSourceRef.Kind, o.Spec.DataSourceRef.Name
	case o.Spec.DataSource != nil:
		traits.dataSourceKind, traits.dataSourceName = o.Spec.DataSource.Kind, o.Spec.DataSource.Name
	}
	for i := range o.Status.Conditions {
		if condition := &o.Status.Conditions[i]; condition.Type == unusedCondition {
			spec.unused = used
			if condition.Status == corev1.ConditionTrue {
				spec.unused, spec.unusedSince = unused, apiTime(condition.LastTransitionTime)
			}
		}
	}
	spec.traits = unique.Make(traits)
	return spec
}

// selectedNode is the scheduler's word to the provisioner, where binding waits for the
// first pod.
func (c *claimSpec) selectedNode() string {
	return c.annotations.Value().Get("volume.kubernetes.io/selected-node")
}

// provisioner is who was asked to make a volume for the claim; the key with "beta" is
// that of Kubernetes before 1.23.
func (c *claimSpec) provisioner() string {
	annotations := c.annotations.Value()
	return cmp.Or(annotations.Get("volume.kubernetes.io/storage-provisioner"), annotations.Get("volume.beta.kubernetes.io/storage-provisioner"))
}

// claimConditions lists the conditions that are true, and what is not done yet of
// a resize. Unused is on its own: it comes and goes with the pods.
func claimConditions(o *corev1.PersistentVolumeClaim) string {
	var list []string
	for i := range o.Status.Conditions {
		if condition := &o.Status.Conditions[i]; condition.Type != unusedCondition && condition.Status == corev1.ConditionTrue {
			list = append(list, string(condition.Type))
		}
	}
	if status := o.Status.AllocatedResourceStatuses[corev1.ResourceStorage]; status != "" {
		list = append(list, string(status))
	}
	slices.Sort(list)
	return strings.Join(list, ",")
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// claimClass returns the claim's storage class; the annotation is how claims
// named it before the field was there, and is still honoured by the API.
func claimClass(o *corev1.PersistentVolumeClaim) string {
	if class, ok := o.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		return class
	}
	if o.Spec.StorageClassName != nil {
		return *o.Spec.StorageClassName
	}
	return ""
}

func (inv *Inventory) noteClaim(o *corev1.PersistentVolumeClaim, seen Observation) bool {
	c := inv.claims[string(o.UID)]
	if c == nil {
		c = inv.addClaim(o, seen)
	} else if spec := c.read(o); c.unchanged(&spec) && c.labels.Equal(o.Labels) {
		return false
	} else {
		inv.versioned(o, func() { inv.claimChanges(c, &spec, o, seen) })
		c.claimSpec = spec
	}
	if c.phase.Value() == string(corev1.ClaimBound) && c.boundAt == 0 && !seen.Found {
		c.boundAt = seen.At // until the volume tells it exactly
	}
	c.labels = inv.retainLabels(c.labels, o.Labels)
	c.fresh = true
	inv.adopt(c)
	inv.markClaim(c)
	return true
}

// unchanged compares with what the API says now. A workload that was found by
// the claim's name is not in that, and is kept.
func (c *claim) unchanged(now *claimSpec) bool {
	had, has := c.traits.Value(), now.traits.Value()
	if has.workloadKind == "" && had.workloadKind != "" {
		has.workloadKind, has.workloadName = had.workloadKind, had.workloadName
		now.traits = unique.Make(has)
	}
	return *now == c.claimSpec
}

func (inv *Inventory) addClaim(o *corev1.PersistentVolumeClaim, seen Observation) *claim {
	key := name{inv.sharedNamespace(o.Namespace), inv.retainString(o.Name)}
	slot := inv.slot(key)
	// An update can hide a deletion and a creation under the same name.
	for _, other := range slot.claims {
		if other.deleted == 0 && !inv.restoring {
			inv.dropClaim(other, seen)
		}
	}
	c := &claim{uid: inv.retainString(string(o.UID)), name: key}
	c.claimSpec = c.read(o)
	if len(slot.claims) > 0 && !seen.Found {
		inv.lives[c] = life{born: versionOf(o)}
	}
	slot.claims = append(slot.claims, c)
	inv.claims[c.uid] = c
	inv.change(c.change(fact.Change{
		At: c.created, Action: fact.Created, Details: bytesText(c.requested) + " requested of " + orNone(c.traits.Value().class),
		Actor: lastActor(o), Found: seen.Found,
	}))
	inv.markPods(slot)
	return c
}

// life is the first and the last version of a claim whose name others had before or
// after it, as far as they were seen.
type life struct{ born, died uint64 }

// holds reports whether, by that, a pod can have held the claim that started in a
// version; the last 32 bits of it are enough, as they all are of these minutes.
func (l life) holds(version uint32) bool {
	return version == 0 || (l.born == 0 || int32(version-uint32(l.born)) >= 0) && (l.died == 0 || int32(uint32(l.died)-version) >= 0)
}

// versionText is an object's version as the API writes it.
func versionText(object any) string { return object.(metav1.Object).GetResourceVersion() }

func versionOf(o metav1.Object) uint64 { return fact.VersionNumber(o.GetResourceVersion()) }

func (c *claim) change(change fact.Change) fact.Change {
	change.Kind, change.UID, change.Namespace, change.Name = string(fact.Claims), c.uid, c.name.namespace, c.name.name
	change.StorageClass = c.traits.Value().class
	return change
}

func (inv *Inventory) claimChanges(c *claim, now *claimSpec, o *corev1.PersistentVolumeClaim, seen Observation) {
	actor, had, has := lastActor(o), c.traits.Value(), now.traits.Value()
	if now.phase.Value() == string(corev1.ClaimLost) {
		c.announced = false // it may be bound again
	}
	if c.phase != now.phase && now.phase.Value() != string(corev1.ClaimBound) { // Bound is told when its volume is known
		inv.change(c.change(fact.Change{
			At: seen.At, Action: fact.Phase, Actor: actor, Details: orNone(c.phase.Value()) + " → " + orNone(now.phase.Value()),
		}))
	}
	if c.requested != now.requested {
		inv.change(c.change(fact.Change{
			At: seen.At, Action: fact.ResizeRequested, Actor: actor, Details: bytesText(c.requested) + " → " + bytesText(now.requested),
		}))
	}
	if had.attributesClass != has.attributesClass {
		inv.change(c.change(fact.Change{
			At: seen.At, Action: fact.ModifyRequested, Actor: actor,
			Details: "attributes class " + orNone(had.attributesClass) + " → " + orNone(has.attributesClass),
		}))
	}
	if had.currentAttributesClass != has.currentAttributesClass {
		inv.change(c.change(fact.Change{
			At: seen.At, Action: fact.Modified, Actor: actor,
			Details: "attributes class " + orNone(had.currentAttributesClass) + " → " + orNone(has.currentAttributesClass),
		}))
	}
	if c.annotations != now.annotations {
		if node := now.selectedNode(); node != "" && node != c.selectedNode() {
			inv.change(c.change(fact.Change{At: seen.At, Action: fact.NodeSelected, Actor: actor, Details: node}))
		}
		if driver := now.provisioner(); driver != "" && driver != c.provisioner() {
			inv.change(c.change(fact.Change{At: seen.At, Action: fact.Provisioning, Actor: actor, Details: "by " + driver}))
		}
	}
	if c.deleting == 0 && now.deleting != 0 {
		inv.change(c.change(deletingChange(o, now.deleting)))
	}
	if c.capacity != now.capacity && c.capacity != 0 {
		inv.change(c.change(fact.Change{
			At: seen.At, Action: fact.Resized, Actor: actor, Details: bytesText(c.capacity) + " → " + bytesText(now.capacity),
		}))
	}
}

// dropClaim notes that a claim is gone. It stays under its name until its pods
// are gone, too.
func (inv *Inventory) dropClaim(c *claim, seen Observation) {
	if c == nil {
		return
	}
	c.noBefore, c.deleted = seen.bounds(c.created, c.deleting)
	c.fresh = true
	inv.change(c.change(fact.Change{At: c.deleted, Action: fact.Deleted}))
	delete(inv.claims, c.uid)
	inv.markPods(inv.slot(c.name))
	inv.markClaim(c)
	inv.tombstones = append(inv.tombstones, tombstone{at: seen.At, claim: c})
}

func (inv *Inventory) evictClaim(c *claim) {
	if c.volume != nil && c.volume.user == c {
		c.volume.forgetUser()
		inv.markSnapshot(c.volume)
	}
	slot := inv.slot(c.name)
	slot.claims = slices.DeleteFunc(slot.claims, func(other *claim) bool { return other == c })
	inv.tidy(c.name, slot)
	delete(inv.formers, c.uid)
	delete(inv.lives, c)
	remove(inv.unbound, c.volume, c)
	inv.nameNoMore(c)
	inv.forgetSnapshot(fact.Claims, c.uid)
}

// slot returns what is known under a claim's name; tidy drops it once it is
// empty.
func (inv *Inventory) slot(key name) *claimName {
	s := inv.claimNames.get(key)
	if s == nil {
		s = retainOne(inv, &inv.slots, claimName{})
		inv.claimNames.put(key, s)
	}
	return s
}

func (inv *Inventory) tidy(key name, s *claimName) {
	if len(s.claims) == 0 && len(s.pods) == 0 {
		inv.claimNames.drop(key)
	}
}

func (inv *Inventory) markClaim(c *claim) {
	if !c.dirty {
		c.dirty = true
		inv.dirtyClaims = append(inv.dirtyClaims, c)
	}
}

func (inv *Inventory) markPods(slot *claimName) {
	for _, p := range slot.pods {
		inv.markPod(p)
	}
}

func (inv *Inventory) syncClaim(c *claim, seen Observation) {
	c.dirty = false
	// The volume may have been bound and released again by now, of which a claim that was deleted
	// meanwhile never told.
	if v := inv.volumeOf[c.uid]; v != nil && (v.name == c.volumeName || v.phase.Value() == string(corev1.VolumeBound) || v.binding.claimUID == c.uid) {
		delete(inv.volumeOf, c.uid)
		inv.had(c.uid, c.volume, v)
		c.volume, c.fresh = v, true
		v.user = c
		v.shareNames(c)
		inv.markPods(inv.slot(c.name))
	}
	bound := c.phase.Value() == string(corev1.ClaimBound)
	if c.volume == nil && bound {
		inv.findVolume(c)
	}
	for _, former := range inv.formers[c.uid] {
		inv.bindingOf(c, former, seen)
	}
	waits := false // for its volume, which comes to be Bound first and says when, to be seen to
	if v := c.volume; v != nil {
		if c.volumeName == v.name {
			c.volumeName = v.name // likewise
		}
		b := inv.bindingOf(c, v, seen)
		if b.bound != 0 && b.bound != c.boundAt {
			c.boundAt, c.fresh = b.bound, true
		}
		waits = b.claimUID == "" && v.claimUID == c.uid && v.deleted == 0
	}
	if !c.announced && bound && !waits && c.volume != nil && c.boundAt != 0 && (c.volume.deleted == 0 || len(inv.formers[c.uid]) == 0) {
		c.announced = true
		inv.change(c.change(fact.Change{
			At: c.boundAt, Action: fact.Bound, Details: "to volume " + c.volumeName, Found: seen.Found,
			Took: time.Duration(max(c.boundAt-c.created, 0)) * time.Microsecond, SourceKind: c.volume.source.kindOr(""),
		}))
	}
	if c.fresh {
		c.fresh = false
		inv.markSnapshot(c)
		inv.update.Facts.Claims = append(inv.update.Facts.Claims, c.row(inv.nextVersion(seen.At), inv.claimAnnotations.Unpack(c.annotations)))
	}
	inv.markClaimState(c)
}

// had notes that a claim has another volume than before.
func (inv *Inventory) had(claim string, former, v *volume) {
	if former != nil && former != v && !slices.Contains(inv.formers[claim], former) {
		inv.formers[claim] = append(inv.formers[claim], former)
	}
}

// findVolume finds a bound claim's volume by its name: the volume may be somebody
// else's by now, and what it said of this claim have been missed.
func (inv *Inventory) findVolume(c *claim) {
	v := inv.volumeNames[c.volumeName]
	if v == nil {
		if waiting := inv.awaited[c.volumeName]; !slices.Contains(waiting, c) {
			inv.awaited[c.volumeName] = append(waiting, c)
		}
		return
	}
	inv.nameNoMore(c)
	c.volume, c.fresh = v, true
	inv.markPods(inv.slot(c.name))
}

// nameNoMore takes a claim off the list of those that wait for a volume by its name.
func (inv *Inventory) nameNoMore(c *claim) {
	remove(inv.awaited, c.volumeName, c)
}

// remove takes an element out of a list of lists, and the list with its last one.
func remove[K, E comparable](lists map[K][]E, key K, element E) {
	left := slices.DeleteFunc(lists[key], func(other E) bool { return other == element })
	if lists[key] = left; len(left) == 0 {
		delete(lists, key)
	}
}

// bindingOf is the last binding of a claim and a volume. One that was missed, or whose
// telling is on its way, while the volume is another claim's or gone, is told as far as
// the claim knows it: from when it was seen bound until, at the latest, the volume's
// change.
func (inv *Inventory) bindingOf(c *claim, v *volume, seen Observation) binding {
	if v.binding.claimUID == c.uid {
		return v.binding
	}
	for _, b := range inv.past[v] {
		if b.claimUID == c.uid {
			return b.binding
		}
	}
	if v.claimUID == c.uid && v.deleted == 0 && v.phase.Value() == string(corev1.VolumeReleased) && c.phase.Value() == string(corev1.ClaimBound) {
		inv.markVolume(v) // it was given back before this was known
	}
	changed := v.deleted
	if changed == 0 && v.claimUID != "" && v.claimUID != c.uid {
		changed = v.phaseChanged
	}
	if c.phase.Value() != string(corev1.ClaimBound) && c.phase.Value() != string(corev1.ClaimLost) {
		return binding{}
	}
	if changed == 0 { // yet to come
		if waiting := inv.unbound[v]; !slices.Contains(waiting, c) {
			inv.unbound[v] = append(waiting, c)
		}
		return binding{}
	}
	b := pastBinding{binding: binding{claimUID: c.uid, bound: c.boundAt, released: latest(changed, c.boundAt), notBefore: c.boundAt}, hearsay: true}
	inv.past[v] = append(inv.past[v], b)
	inv.emitBinding(v, b.binding, b.ordinal, seen)
	return binding{}
}
