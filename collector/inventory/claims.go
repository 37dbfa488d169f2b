package inventory

import (
	"cmp"
	"slices"
	"strings"
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/intern"
)

// claim is a PersistentVolumeClaim. Pods refer to it by its name; its volume refers to it by its
// UID, in claimRef.
type claim struct {
	uid  string
	name name
	claimSpec
	labels                     intern.Labels
	volume                     *volume // once known it is kept, also when the volume is gone
	boundAt, deleted, noBefore fact.Time
	emitted                    uint64 // hash of the ClaimState that was emitted last; 0 for none
	pending                    int32  // pods that await it; countUse maintains it
	boundIn                    uint32 // while it waits in inv.early: the version that showed it Bound, its last 32 bits

	found, foundBound   bool // existed, and was Bound, in the first list (rule 1.3)
	boundLate           bool // boundAt is only the latest moment at which it can have been bound: nobody watched
	unannounced         bool // it is or was Bound, and the change "bound" has not been emitted
	boundBefore         bool // the change "bound" has been emitted at least once, or the claim was found Lost
	awaitsVolume        bool // its volume is yet to say when it was bound (rule 2.9)
	byName              bool // the volume is inferred from its name alone (rule 2.6)
	vanished            bool // it is gone, and nobody knows until when it was watched
	fresh, dirty, stale bool
	queued
}

// claimSpec is the part of a claim that the API reports and that can change.
type claimSpec struct {
	traits              unique.Handle[claimTraits]
	annotations         unique.Handle[intern.Labels]
	phase               intern.Word
	volumeName          string
	podUID              intern.Word // set only for the claim of a generic ephemeral volume
	requested, capacity int64
	unusedSince         fact.Time
	created             fact.Time
	deleting            fact.Time // when its deletion was requested
	unused              verdict
}

// verdict is what the API's condition Unused says of a claim.
type verdict int8

// The verdicts; silent means that the claim has no condition Unused.
const (
	silent verdict = iota
	used
	unused
)

// claimTraits are values that many claims share.
type claimTraits struct {
	class, accessModes, mode, owner, groups, workloadKind, workloadName, dataSourceKind, dataSourceName string

	attributesClass, currentAttributesClass string
	conditions                              string // those that are true, and the progress of a resize
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

// read returns the API's present values.
func (c *claim) read(o *corev1.PersistentVolumeClaim) claimSpec {
	traits := claimTraits{
		class: namedClass(o, ptr.Deref(o.Spec.StorageClassName, "")), accessModes: intern.Join(o.Spec.AccessModes), mode: volumeMode(o.Spec.VolumeMode),
		owner: ownerOf(o.Labels, o.Annotations), groups: intern.Join(groupsOf(o.Labels, o.Annotations)),
		attributesClass: ptr.Deref(o.Spec.VolumeAttributesClassName, ""), currentAttributesClass: ptr.Deref(o.Status.CurrentVolumeAttributesClassName, ""),
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
	var maker workload
	spec.podUID, maker = claimOwner(o)
	traits.workloadKind, traits.workloadName = maker.kind, maker.name
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

// selectedNode returns the node that the scheduler selected for the provisioner, where binding
// waits for the first pod.
func (c *claimSpec) selectedNode() string {
	return c.annotations.Value().Get("volume.kubernetes.io/selected-node")
}

// provisioner returns the provisioner that was asked to create a volume for the claim. Kubernetes
// before 1.23 uses the key with "beta".
func (c *claimSpec) provisioner() string {
	annotations := c.annotations.Value()
	return cmp.Or(annotations.Get("volume.kubernetes.io/storage-provisioner"), annotations.Get("volume.beta.kubernetes.io/storage-provisioner"))
}

// claimConditions lists the conditions that are true, and the pending steps of a resize. It leaves
// out Unused, which changes with the pods.
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

func (inv *Inventory) noteClaim(o *corev1.PersistentVolumeClaim, obs Observation) bool {
	c := inv.claims[string(o.UID)]
	revived := c == nil && inv.reviveClaim(o, obs)
	if revived {
		c = inv.claims[string(o.UID)]
	}
	wasBound := c != nil && c.phase.Value() == string(corev1.ClaimBound)
	if c == nil {
		c = inv.addClaim(o, obs)
	} else if spec := c.read(o); c.unchanged(&spec) && !revived && c.labels.Equal(o.Labels) {
		return false
	} else {
		inv.versioned(o, func() { inv.claimChanges(c, &spec, o, obs) })
		if v := c.volume; v != nil && v.user == c && spec.unusedSince != c.unusedSince {
			inv.saveUnseenUse(v)
		}
		c.claimSpec = spec
	}
	switch phase := c.phase.Value(); {
	case phase == string(corev1.ClaimBound) && !wasBound:
		inv.noteBound(c, versionOf(o), obs)
	case phase == string(corev1.ClaimLost) && !c.unannounced: // nobody may have observed that it was bound
		c.boundBefore = true
	}
	c.labels = inv.retainLabels(c.labels, o.Labels)
	c.fresh = true
	inv.adopt(c)
	inv.markClaim(c)
	return true
}

// noteBound records that a claim has become Bound. By rule 2.9 the observation counts until the
// volume gives the exact moment.
func (inv *Inventory) noteBound(c *claim, version uint64, obs Observation) {
	c.unannounced = true
	if obs.Found {
		return
	}
	if !obs.live() {
		inv.awaitVolumes(c, uint32(version), obs.At)
	}
	if c.boundAt == 0 {
		c.boundAt, c.boundLate = obs.At, !obs.live()
	}
}

// unchanged reports whether a claim's values equal what the API reports now. A workload that was
// found by the claim's name is not among the API's values, and is kept.
func (c *claim) unchanged(now *claimSpec) bool {
	if now.podUID == (intern.Word{}) { // a pod that was deleted with its claims orphaned did own them
		now.podUID = c.podUID
	}
	had, has := c.traits.Value(), now.traits.Value()
	if has.workloadKind == "" && had.workloadKind != "" {
		has.workloadKind, has.workloadName = had.workloadKind, had.workloadName
		now.traits = unique.Make(has)
	}
	return *now == c.claimSpec
}

// reviveClaim restores a deleted claim that exists again under its UID (rule 6.4).
func (inv *Inventory) reviveClaim(o *corev1.PersistentVolumeClaim, obs Observation) bool {
	c, ok := inv.revive(fact.Claims, string(o.UID)).(*claim)
	if ok {
		c.deleted, c.noBefore = 0, 0
		delete(inv.lives, c)
		inv.listClaim(c, obs)
	}
	return ok
}

func (inv *Inventory) addClaim(o *corev1.PersistentVolumeClaim, obs Observation) *claim {
	c := &claim{uid: inv.retainString(string(o.UID)), name: name{inv.sharedNamespace(o.Namespace), inv.retainString(o.Name)}}
	c.claimSpec = c.read(o)
	c.found = obs.Found && !inv.restoring
	c.foundBound = c.found && c.phase.Value() == string(corev1.ClaimBound)
	inv.listClaim(c, obs)
	slot := inv.slot(c.name)
	if len(slot.claims) > 0 && !inv.listing { // the version in a list may be a later one than that of the creation
		inv.lives[c] = life{born: versionOf(o)}
	}
	slot.claims = append(slot.claims, c)
	inv.change(c.change(fact.Change{
		At: c.created, Action: fact.Created, Details: bytesText(c.requested) + " requested of " + orNone(c.traits.Value().class),
		Actor: lastActor(o), Found: obs.Found,
	}))
	if c.deleting != 0 {
		inv.change(c.change(deletingChange(o, c.deleting, obs)))
	}
	return c
}

// listClaim indexes a claim under its UID and name. An update can hide a deletion and a creation
// under the same name (rule 1.4). During a restore, several claims can share a name.
func (inv *Inventory) listClaim(c *claim, obs Observation) {
	slot := inv.slot(c.name)
	for _, other := range slot.claims {
		if other != c && other.deleted == 0 && !inv.restoring {
			inv.dropClaim(other, obs.before(c.created))
		}
	}
	inv.claims[c.uid] = c
	inv.markPods(slot)
}

// life is the first and the last observed version of a claim whose name other claims had before or
// after it.
type life struct{ born, died uint64 }

// holds reports whether a pod that started in a version can have used the claim. The last 32 bits
// of the version suffice: all compared versions are minutes apart, which is fewer than 2^31
// versions.
func (l life) holds(version uint32) bool {
	unborn := l.born != 0 && int32(version-uint32(l.born)) < 0 //nolint:gosec // versions wrap around
	dead := l.died != 0 && int32(uint32(l.died)-version) < 0   //nolint:gosec // versions wrap around
	return version == 0 || !unborn && !dead
}

// versionText is an object's version as the API writes it.
func versionText(object any) string { return object.(metav1.Object).GetResourceVersion() }

func versionOf(o metav1.Object) uint64 { return fact.VersionNumber(o.GetResourceVersion()) }

func (c *claim) change(change fact.Change) fact.Change {
	change.Kind, change.UID, change.Namespace, change.Name = string(fact.Claims), c.uid, c.name.namespace, c.name.name
	change.StorageClass = c.traits.Value().class
	return change
}

func (inv *Inventory) claimChanges(c *claim, now *claimSpec, o *corev1.PersistentVolumeClaim, obs Observation) {
	actor, had, has := lastActor(o), c.traits.Value(), now.traits.Value()
	if c.phase != now.phase && now.phase.Value() != string(corev1.ClaimBound) { // announceBinding emits Bound, once the volume is known
		inv.change(c.change(fact.Change{
			At: obs.At, Action: fact.Phase, Actor: actor, Details: orNone(c.phase.Value()) + " → " + orNone(now.phase.Value()),
		}))
	}
	if c.requested != now.requested {
		inv.change(c.change(fact.Change{
			At: obs.At, Action: fact.ResizeRequested, Actor: actor, Details: bytesText(c.requested) + " → " + bytesText(now.requested),
		}))
	}
	if had.attributesClass != has.attributesClass {
		inv.change(c.change(fact.Change{
			At: obs.At, Action: fact.ModifyRequested, Actor: actor,
			Details: "attributes class " + orNone(had.attributesClass) + " → " + orNone(has.attributesClass),
		}))
	}
	// A claim that is Lost has neither a size nor a class any more (rule 2.10).
	bound := now.phase.Value() == string(corev1.ClaimBound)
	if bound && had.currentAttributesClass != has.currentAttributesClass {
		inv.change(c.change(fact.Change{
			At: obs.At, Action: fact.Modified, Actor: actor,
			Details: "attributes class " + orNone(had.currentAttributesClass) + " → " + orNone(has.currentAttributesClass),
		}))
	}
	if c.annotations != now.annotations {
		inv.provisioningChanges(c, now, actor, obs)
	}
	if c.deleting == 0 && now.deleting != 0 {
		inv.change(c.change(deletingChange(o, now.deleting, obs)))
	}
	if bound && c.capacity != now.capacity && c.capacity != 0 {
		inv.change(c.change(fact.Change{
			At: obs.At, Action: fact.Resized, Actor: actor, Details: bytesText(c.capacity) + " → " + bytesText(now.capacity),
		}))
	}
}

// provisioningChanges emits the changes that the scheduler and the provisioner write into
// annotations.
func (inv *Inventory) provisioningChanges(c *claim, now *claimSpec, actor string, obs Observation) {
	if node := now.selectedNode(); node != "" && node != c.selectedNode() {
		inv.change(c.change(fact.Change{At: obs.At, Action: fact.NodeSelected, Actor: actor, Details: node}))
	}
	if driver := now.provisioner(); driver != "" && driver != c.provisioner() {
		inv.change(c.change(fact.Change{At: obs.At, Action: fact.Provisioning, Actor: actor, Details: "by " + driver}))
	}
}

// dropClaim records that a claim is gone. It stays under its name until its pods are gone, too.
func (inv *Inventory) dropClaim(c *claim, obs Observation) {
	if c == nil {
		return
	}
	c.noBefore, c.deleted = obs.bounds(c.created, c.deleting)
	c.vanished = obs.NotBefore == 0
	c.fresh = true
	inv.change(c.change(fact.Change{At: c.deleted, Action: fact.Deleted}))
	delete(inv.claims, c.uid)
	inv.markPods(inv.slot(c.name))
	inv.markClaim(c)
	inv.entomb(fact.Claims, c.uid, obs.At, c)
}

func (inv *Inventory) evictClaim(c *claim) {
	if v := c.volume; v != nil && v.user == c {
		inv.saveUnseenUse(v)
		inv.keepClaimant(v, c)
		v.user = nil
	}
	if v := inv.volumeOf[c.uid]; v != nil {
		inv.keepClaimant(v, c)
	}
	slot := inv.slot(c.name)
	slot.claims = slices.DeleteFunc(slot.claims, func(other *claim) bool { return other == c })
	inv.tidy(c.name, slot)
	delete(inv.formers, c.uid)
	delete(inv.lives, c)
	remove(inv.unbound, c.volume, c)
	inv.awaitNoVolume(c)
	inv.forgetSnapshot(fact.Claims, c.uid)
}

// slot returns the entry of a claim's name; tidy removes it once it is empty.
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
