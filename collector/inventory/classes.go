package inventory

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// longestName is the longest name of an object in bytes (ValidateName, NameIsDNSSubdomain).
const longestName = 253

// namedClass returns the storage class that a claim or a volume names in its spec or in an annotation. The annotation is
// older than the field, and the API still honours it (GetPersistentVolumeClass). Nobody validates it, and its text becomes
// a label of metrics: one that is not UTF-8 would fail each scrape. So a text that can be no name of a class is made harmless.
func namedClass(o metav1.Object, inSpec string) string {
	class, ok := o.GetAnnotations()[corev1.BetaStorageClassAnnotation]
	if !ok {
		return inSpec
	}
	return strings.ReplaceAll(cutLine(class, longestName), "/", "_")
}

type class struct{ row fact.StorageClass }

func classRow(o *storagev1.StorageClass) fact.StorageClass {
	row := fact.StorageClass{
		UID:           string(o.UID),
		Name:          o.Name,
		Provisioner:   o.Provisioner,
		ReclaimPolicy: string(corev1.PersistentVolumeReclaimDelete), // the API's default
		BindingMode:   string(storagev1.VolumeBindingImmediate),
		Expansion:     o.AllowVolumeExpansion != nil && *o.AllowVolumeExpansion,
		Parameters:    o.Parameters,
		CreatedAt:     apiTime(o.CreationTimestamp),
	}
	if o.ReclaimPolicy != nil {
		row.ReclaimPolicy = string(*o.ReclaimPolicy)
	}
	if o.VolumeBindingMode != nil {
		row.BindingMode = string(*o.VolumeBindingMode)
	}
	return row
}

func sameClass(a, b *fact.StorageClass) bool {
	return a.UID == b.UID && a.Name == b.Name && a.Provisioner == b.Provisioner &&
		a.ReclaimPolicy == b.ReclaimPolicy && a.BindingMode == b.BindingMode && a.Expansion == b.Expansion &&
		maps.Equal(a.Parameters, b.Parameters) && a.CreatedAt == b.CreatedAt && a.DeletedAt == b.DeletedAt
}

func (inv *Inventory) noteClass(o *storagev1.StorageClass, obs Observation) bool {
	row := classRow(o)
	inv.knowClass(row.Name)
	c := inv.classes[row.UID]
	if c != nil && sameClass(&c.row, &row) {
		return false
	}
	if c == nil {
		c = &class{row}
		inv.classes[row.UID] = c
		// An update can hide a deletion and a creation under the same name.
		for uid, other := range inv.classes {
			if other != c && other.row.Name == row.Name && !inv.restoring {
				inv.dropClass(uid, obs)
			}
		}
		inv.change(fact.Change{
			At: row.CreatedAt, Kind: string(fact.StorageClasses), UID: row.UID, Name: row.Name, Action: fact.Created,
			Details: row.Provisioner, Actor: lastActor(o), Found: obs.Found,
		})
	}
	c.row = row
	inv.emitClass(c, obs)
	return true
}

func (inv *Inventory) dropClass(uid string, obs Observation) {
	c := inv.classes[uid]
	if c == nil {
		return
	}
	delete(inv.classes, uid)
	end := obs
	if other := inv.classOf(c.row.Name); other != nil && other.row.CreatedAt >= c.row.CreatedAt {
		end = obs.before(other.row.CreatedAt) // rule 1.4
	}
	_, c.row.DeletedAt = end.bounds(c.row.CreatedAt)
	inv.emitClass(c, obs)
	inv.change(fact.Change{At: c.row.DeletedAt, Kind: string(fact.StorageClasses), UID: uid, Name: c.row.Name, Action: fact.Deleted})
	inv.forgetSnapshot(fact.StorageClasses, uid)
}

func (inv *Inventory) emitClass(c *class, obs Observation) {
	c.row.Version = inv.nextVersion(obs.At)
	inv.update.Facts.StorageClasses = append(inv.update.Facts.StorageClasses, c.row)
	present, gone := inv.classOf(c.row.Name), false // c, or its successor
	if present == nil {
		present, gone = c, true
	}
	inv.update.Classes = append(inv.update.Classes, fact.ClassState{
		Name: present.row.Name, Provisioner: present.row.Provisioner, ReclaimPolicy: present.row.ReclaimPolicy, BindingMode: present.row.BindingMode, Gone: gone,
	})
	for _, claim := range inv.claims { // their classes decide whether waiting is expected
		if claim.traits.Value().class == c.row.Name && claim.volume == nil {
			inv.markClaimState(claim)
		}
	}
	for _, capacity := range inv.capacities {
		if capacity.StorageClass == c.row.Name {
			inv.emitCapacity(capacity)
		}
	}
}

// knowClass notes that a StorageClass or a volume has a class. Metrics show claims of the class under its name from now on.
func (inv *Inventory) knowClass(name string) {
	if inv.shownClass(name) == name {
		return
	}
	inv.knownClasses[inv.retainString(name)] = struct{}{}
	for _, claim := range inv.claims {
		if claim.traits.Value().class == name {
			inv.markClaimState(claim)
		}
	}
}

// shownClass returns the class under which metrics show a claim that names a class. Only who may create objects of the
// cluster, StorageClasses and PersistentVolumes, can add a class: who may create claims could invent any number of series.
func (inv *Inventory) shownClass(name string) string {
	if _, known := inv.knownClasses[name]; known || name == "" {
		return name
	}
	return fact.UnknownClass
}

// classOf returns the class with a name; nil if there is none. Restore can add a class that is gone beside its successor.
func (inv *Inventory) classOf(name string) (found *class) {
	for _, c := range inv.classes {
		if c.row.Name == name && (found == nil || c.row.CreatedAt > found.row.CreatedAt) {
			found = c
		}
	}
	return found
}
