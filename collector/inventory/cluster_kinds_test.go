package inventory

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

func TestNamespaceColumns(t *testing.T) {
	o := &corev1.Namespace{ObjectMeta: objectMeta("", "shop", "n1", 1)}
	o.Labels = map[string]string{"owner": "dana", "team": "web"}
	inv, h := play(t, set(1, o), set(2, o))
	expect(t, "rows, with that of objects", h.rows, 2)
	expect(t, "owner", h.namespaces["n1"].Owner, "dana")
	expect(t, "created", h.namespaces["n1"].CreatedAt, at(1))
	if err := inv.Replace(fact.Namespaces, nil, Live(at(9))); err != nil {
		t.Fatal(err)
	}
	h.take(inv)
	expect(t, "deleted", h.namespaces["n1"].DeletedAt, at(9))
}

func volumeAttachment(uid, volume string, attached int) *storagev1.VolumeAttachment {
	o := &storagev1.VolumeAttachment{
		ObjectMeta: objectMeta("", "csi-"+uid, uid, 4),
		Spec:       storagev1.VolumeAttachmentSpec{Attacher: "csi.example", NodeName: "node-1", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume}},
	}
	if attached > 0 {
		o.Status.Attached = true
		o.ManagedFields = []metav1.ManagedFieldsEntry{
			{Manager: "kube-controller-manager", Time: new(second(4))},
			{Manager: "attacher", Subresource: "status", Time: new(second(attached))},
		}
	}
	return o
}

func TestAttachmentLastsFromAttachedToGone(t *testing.T) {
	volume := pv("vol", "v1", 1, nil, corev1.VolumeAvailable, 1)
	failing := volumeAttachment("a1", "vol", 0)
	failing.Status.AttachError = &storagev1.VolumeError{Message: "no such disk"}
	attached := volumeAttachment("a1", "vol", 7)

	_, h := play(t, set(1, volume), set(5, failing))
	expect(t, "error", h.attachments["a1"].Error, "no such disk")
	expect(t, "not attached", h.attachments["a1"].AttachedAt, 0)

	for name, events := range map[string][]event{
		"volume first": {set(1, volume), set(5, failing), set(8, attached), set(9, attached), gone(20, attached)},
		"volume last":  {set(5, failing), set(8, attached), set(9, volume), gone(20, attached)},
	} {
		inv, h := play(t, events...)
		expect(t, name, h.attachments["a1"], fact.Attachment{
			UID: "a1", VolumeUID: "v1", Node: "node-1", Attacher: "csi.example", CreatedAt: at(4), Attached: true, AttachedAt: at(7), DetachedAt: at(20),
		})
		expect(t, name+", left", len(inv.attachments)+len(inv.unattached), 0)
	}

	silent := volumeAttachment("a1", "vol", 7)
	silent.ManagedFields = nil
	_, h = play(t, set(8, silent))
	expect(t, "without a time from the API, that of the observation", h.attachments["a1"].AttachedAt, at(8))

	inv, _ := play(t, set(8, silent), gone(9, silent))
	inv.evict(at(9) + retention + 1)
	expect(t, "its volume never came", len(inv.unattached), 0)
}

// An attachment was attached before it is observed for the first time. The attacher has written its status after a failure to
// detach, or nobody says when. Later events and restarts do not date it.
func TestAttachmentThatWasAttachedAtAnUnknownMoment(t *testing.T) {
	failing, silent := volumeAttachment("a1", "vol", 9), volumeAttachment("a1", "vol", 9)
	failing.Status.DetachError = &storagev1.VolumeError{Message: "the node does not answer"}
	silent.ManagedFields = nil
	found, gap := Observation{At: at(10), Found: true}, Observation{At: at(10), NotBefore: at(3)}
	for name, test := range map[string]struct {
		object *storagev1.VolumeAttachment
		seen   Observation
	}{
		"found, and a failure to detach": {failing, found}, "a failure to detach in a gap": {failing, gap}, "found without managedFields": {silent, found},
	} {
		t.Run(name, func(t *testing.T) {
			r := track(t)
			r.list(fact.Volumes, test.seen, pv("vol", "v1", 1, nil, corev1.VolumeAvailable, 1))
			r.list(fact.VolumeAttachments, test.seen, as("10", test.object))
			for i, when := range []int{20, 30} {
				detaching := as(fmt.Sprint(when), test.object.DeepCopy())
				detaching.DeletionTimestamp, detaching.DeletionGracePeriodSeconds = new(second(19)), new(int64(0))
				if i > 0 {
					detaching.Status.DetachError = &storagev1.VolumeError{Message: "it still does not answer"}
				}
				r.play(set(when, detaching))
				expect(t, "attached at", r.attachments["a1"].AttachedAt, 0)
				r.restart()
			}
			detached := as("35", test.object.DeepCopy())
			detached.DeletionTimestamp, detached.DeletionGracePeriodSeconds = new(second(19)), new(int64(0))
			detached.Status = storagev1.VolumeAttachmentStatus{} // as the attacher leaves it
			r.play(set(35, detached))
			r.restart()
			r.play(gone(40, detached))
			expect(t, "attached", r.attachments["a1"].Attached, true)
			expect(t, "attached at", r.attachments["a1"].AttachedAt, 0)
			expect(t, "detached at", r.attachments["a1"].DetachedAt, at(40))
			for _, c := range changesOf(r.history) {
				if c.Action == fact.Attached {
					t.Errorf("a change: %+v", c)
				}
			}
		})
	}
}

// An attachment waits from its creation until it is attached, and from the request of its deletion until it is gone.
func TestAttachmentWaits(t *testing.T) {
	waiting, attached := volumeAttachment("a1", "vol", 0), volumeAttachment("a1", "vol", 7)
	detaching := attached.DeepCopy()
	detaching.DeletionTimestamp, detaching.DeletionGracePeriodSeconds = new(second(20)), new(int64(0))
	waits := func(operation string, since fact.Time) fact.AttachmentState {
		return fact.AttachmentState{UID: "a1", Volume: "vol", Node: "node-1", Attacher: "csi.example", Operation: operation, Since: since}
	}
	inv, h := New(), newHistory()
	for _, step := range []struct {
		event event
		want  fact.AttachmentState
	}{
		{set(5, waiting), waits(fact.Attaching, at(4))},
		{set(8, attached), waits("", 0)},
		{set(21, detaching), waits(fact.Detaching, at(20))},
		{gone(30, detaching), waits("", 0)},
	} {
		var err error
		if step.event.delete {
			err = inv.Delete(step.event.object, Live(at(step.event.at)))
		} else {
			err = inv.Set(step.event.object, Live(at(step.event.at)))
		}
		if err != nil {
			t.Fatal(err)
		}
		h.take(inv)
		expect(t, "what it waits for", h.waits["a1"], step.want)
	}

	_, h = play(t, set(8, attached), gone(9, attached))
	expect(t, "one that never waited is emitted", len(h.waits), 0)

	// One that waited for a volume that nobody knows was deleted, and the tracker restarts.
	inv = New()
	unread, err := inv.Restore(fact.SavedList{restored(waiting, fact.ObjectSnapshot{Kind: fact.VolumeAttachments, UID: "a1", Deleted: at(9)})}, 1, at(10))
	if unread != nil || err != nil {
		t.Fatal(err)
	}
	h = newHistory()
	h.take(inv)
	expect(t, "what a deleted one waits for after a restart", h.waits["a1"], waits("", 0))
}

func TestStorageCapacityIsSampledWhenItChanges(t *testing.T) {
	o := &storagev1.CSIStorageCapacity{
		ObjectMeta: objectMeta("kube-system", "cap", "k1", 1), StorageClassName: "fast", Capacity: new(resource.MustParse("5Ti")),
		MaximumVolumeSize: new(resource.MustParse("1Ti")), NodeTopology: &metav1.LabelSelector{MatchLabels: map[string]string{"zone": "a"}},
	}
	less := o.DeepCopy()
	less.Capacity = new(resource.MustParse("4Ti"))
	inv, h := play(t, set(0, storageClass("fast", "s1")), set(2, o), set(3, o), set(4, less))
	if len(h.capacities) != 2 {
		t.Fatalf("got %+v", h.capacities)
	}
	expect(t, "first", h.capacities[0], fact.StorageCapacity{
		At: at(2), UID: "k1", StorageClass: "fast", Driver: "nfs.example", Topology: "zone=a", CapacityBytes: 5 << 40, MaximumVolumeBytes: 1 << 40,
	})
	expect(t, "second", h.capacities[1].At, at(4))
	expect(t, "held", inv.Count(fact.StorageCapacities), 1)
	if err := inv.Delete(less, Live(at(9))); err != nil {
		t.Fatal(err)
	}
	expect(t, "gone", inv.Count(fact.StorageCapacities), 0)
}

// The last sample says whether there is an amount: there is none once the object is deleted, or while its driver reports none.
func TestStorageCapacityWithoutAnAmount(t *testing.T) {
	some, none := capacityOf("k1", "fast", resource.NewQuantity(5, resource.BinarySI)), capacityOf("k1", "fast", nil)
	played := func(events ...event) []fact.StorageCapacity {
		_, h := play(t, events...)
		return h.capacities
	}
	// The tracker observes the object last at 3. It restarts at 5, and the first list at 6 lacks the object.
	missed := func(last *storagev1.CSIStorageCapacity) []fact.StorageCapacity {
		inv, h := New(), newHistory()
		unread, err := inv.Restore(fact.SavedList{restored(last, fact.ObjectSnapshot{})}, 1, at(5))
		if unread != nil || err != nil {
			t.Fatal(unread, err)
		}
		if err := inv.Replace(fact.StorageCapacities, nil, Observation{At: at(6), NotBefore: at(3), Version: "70"}); err != nil {
			t.Fatal(err)
		}
		h.take(inv)
		return h.capacities
	}
	sample := func(second int, bytes int64, version string) fact.StorageCapacity {
		return fact.StorageCapacity{At: at(second), UID: "k1", StorageClass: "fast", Topology: "zone=a", CapacityBytes: bytes, Gone: bytes == 0, ResourceVersion: version}
	}
	for name, test := range map[string]struct{ got, want []fact.StorageCapacity }{
		"deleted":                     {played(set(1, some), gone(2, as("9", some.DeepCopy()))), []fact.StorageCapacity{sample(1, 5, ""), sample(2, 0, "9")}},
		"deleted, by a clock behind":  {played(set(3, some), gone(2, some)), []fact.StorageCapacity{sample(3, 5, ""), sample(3, 0, "")}},
		"never an amount":             {played(set(1, none)), []fact.StorageCapacity{sample(1, 0, "")}},
		"no amount for a while":       {played(set(1, some), set(2, none), set(3, some)), []fact.StorageCapacity{sample(1, 5, ""), sample(2, 0, ""), sample(3, 5, "")}},
		"no amount, and deleted":      {played(set(1, none), gone(2, none)), []fact.StorageCapacity{sample(1, 0, "")}},
		"deleted in a gap":            {missed(some), []fact.StorageCapacity{sample(6, 0, "70")}},
		"no amount, deleted in a gap": {missed(none), nil},
	} {
		if !slices.Equal(test.got, test.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, test.got, test.want)
		}
	}
}
