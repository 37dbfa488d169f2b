package collector

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
	"github.com/kubevoltracker/kubevoltracker/collector/redact"
)

// outlet notes what each update has, and takes the rows out of it, as the recorder does.
type outlet struct{ updates []fact.Update }

func (o *outlet) Record(u *fact.Update) {
	noted := fact.Update{Positions: append([]fact.Position(nil), u.Positions...), Version: u.Version}
	noted.Claims = append(noted.Claims, u.Claims...)
	noted.Facts, noted.Snapshots = u.TakeRows()
	o.updates = append(o.updates, noted)
}

// firstLists has a collector take the first lists: n claims, and nothing else.
func firstLists(t *testing.T, c *Collector, n int) {
	t.Helper()
	p := &packer{kind: fact.Claims}
	var claims []any
	for i := range n {
		claim := claimOf(fmt.Sprint("c", i), fmt.Sprint(i+1))
		claims = append(claims, p.pack(Trim(redact.Policy{}, fact.Claims, claim)))
	}
	for _, kind := range fact.Kinds() {
		list := firstList{position: fact.Position{Kind: kind, ResourceVersion: "9"}}
		if kind == fact.Claims {
			list.objects = claims
		}
		if _, err := c.keepFirst(kind, list); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFirstListsAreEmittedInPartsAndThePositionsWithTheLast(t *testing.T) {
	const n = 60_000 // a claim is an object, a row and a change
	c, o := newTestStore(0).collector, &outlet{}
	c.exporter, c.recorder = nil, o
	firstLists(t, c, n)
	rows, snapshots, claims := 0, 0, 0
	for i, u := range o.updates {
		rows, snapshots, claims = rows+len(u.Facts.Claims), snapshots+len(u.Snapshots), claims+len(u.Claims)
		if last := i == len(o.updates)-1; (len(u.Positions) > 0) != last {
			t.Errorf("update %d of %d has %d positions", i+1, len(o.updates), len(u.Positions))
		}
		if len(u.Claims) > 0 && len(u.Claims) != n {
			t.Errorf("update %d shows %d claims, and not all at once", i+1, len(u.Claims))
		}
	}
	if len(o.updates) < 4 || rows != n || snapshots != n || claims != n {
		t.Errorf("%d updates have %d rows, %d snapshots and %d states of claims, of %d each", len(o.updates), rows, snapshots, claims, n)
	}
	if c.Synced() != nil {
		t.Error(c.Synced())
	}
}

// An object may not be in the journal of a tracker that has a snapshot before all rows that follow from it are.
func TestListsAfterARestoreAreEmittedWhole(t *testing.T) {
	c, o := newTestStore(0).collector, &outlet{}
	c.exporter, c.recorder, c.snapshot = nil, o, &fact.Snapshot{}
	firstLists(t, c, 60_000)
	if len(o.updates) != 1 || len(o.updates[0].Snapshots) != 60_000 || len(o.updates[0].Positions) == 0 {
		t.Errorf("%d updates", len(o.updates))
	}
}

// brokenObjects cannot be read.
type brokenObjects struct{ error }

func (b brokenObjects) Each(func(*fact.SavedObject) error) error { return b.error }

func TestRunEndsIfTheSnapshotCannotBeRead(t *testing.T) {
	broken := errors.New("the journal is damaged")
	c := newTestStore(0).collector
	c.snapshot = &fact.Snapshot{Objects: brokenObjects{broken}, Positions: map[fact.Kind]fact.Position{fact.Pods: {ResourceVersion: "7"}}}
	if err := c.Run(t.Context()); !errors.Is(err, broken) || c.Synced() == nil {
		t.Errorf("%v, and the lists are %v", err, c.Synced())
	}
}

func TestAStopEndsARestore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c, many := newTestStore(0).collector, fact.SavedList{}
	for range 10 {
		many = append(many, fact.SavedObject{Kind: fact.Drivers})
	}
	read := 0
	c.snapshot = &fact.Snapshot{Objects: until{context.Background(), countedObjects{many, func() {
		if read++; read == 2 {
			cancel()
		}
	}}}, Positions: map[fact.Kind]fact.Position{fact.Pods: {ResourceVersion: "7"}}}
	if err := c.Run(ctx); err != nil || read > 3 || c.Synced() == nil {
		t.Errorf("%v, after %d objects", err, read)
	}
}

// countedObjects calls read for each object.
type countedObjects struct {
	fact.SavedObjects
	read func()
}

func (o countedObjects) Each(restore func(*fact.SavedObject) error) error {
	return o.SavedObjects.Each(func(s *fact.SavedObject) error {
		o.read()
		return restore(s)
	})
}

// reusedObjects reuses the memory of an object for the next one, as the journal does.
type reusedObjects struct{ fact.SavedObjects }

func (o reusedObjects) Each(restore func(*fact.SavedObject) error) error {
	var wire []byte
	return o.SavedObjects.Each(func(s *fact.SavedObject) error {
		wire = append(wire[:0], s.Wire...)
		reused := *s
		reused.Wire = wire
		return restore(&reused)
	})
}

func TestObjectsAreDecodedAheadInTheirOrder(t *testing.T) {
	saved, unreadable := fact.SavedList{}, "c"+fmt.Sprint(aheadObjects)
	for i := range 2*aheadObjects + 1 {
		uid := fmt.Sprint("c", i)
		o := fact.SavedObject{Kind: fact.Claims, UID: uid, Wire: inventory.Wire(claimOf(uid, "1"))}
		if uid == unreadable {
			o.Wire = []byte("unreadable")
		}
		saved = append(saved, o)
	}
	objects := ahead{reusedObjects{saved}, redact.Policy{}}
	var got []string
	err := objects.Each(func(o *fact.SavedObject) error {
		got = append(got, o.UID)
		switch {
		case o.UID == unreadable:
			if o.Decoded != nil || string(o.Wire) != "unreadable" {
				t.Errorf("%s: %v, %q", o.UID, o.Decoded, o.Wire)
			}
		case o.Decoded == nil || o.Decoded.GetName() != "claim-"+o.UID:
			t.Fatalf("%s is decoded as %v", o.UID, o.Decoded)
		}
		return nil
	})
	if err != nil || len(got) != len(saved) {
		t.Fatalf("%d objects, %v", len(got), err)
	}
	for i, uid := range got {
		if uid != saved[i].UID {
			t.Fatalf("%s comes as number %d", uid, i)
		}
	}
	refusal, calls := errors.New("no more"), 0
	if err := objects.Each(func(*fact.SavedObject) error { calls++; return refusal }); !errors.Is(err, refusal) || calls != 1 {
		t.Errorf("%v, after %d objects", err, calls)
	}
}

func TestPackedObjectsOfAListAreSmall(t *testing.T) {
	p := &packer{kind: fact.Pods}
	var size int
	for i := range 10 {
		pod := podWithStatus(i)
		o, err := pod.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		packed := p.pack(Trim(redact.Policy{}, fact.Pods, pod)).(*packed)
		if again := packed.Unpack(); again.GetName() != pod.Name || !strings.Contains(fmt.Sprint(again), "main-"+fmt.Sprint(i)) {
			t.Errorf("%v", again)
		}
		if size = len(packed.data); i > 0 && size > len(o)/3 {
			t.Errorf("%d bytes of %d", size, len(o))
		}
	}
}

var _ inventory.Packed = (*packed)(nil)

// podWithStatus is one of a list of pods that are alike.
func podWithStatus(i int) *corev1.Pod {
	name, at := fmt.Sprint("main-", i), metav1.Unix(1_700_000_000+int64(i), 0)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: fmt.Sprint("db-", i), UID: types.UID(fmt.Sprintf("5c3e1a2b-4f6a-4d0b-8f1e-%012d", i)),
			Labels: map[string]string{"app.kubernetes.io/name": "db", "app.kubernetes.io/instance": fmt.Sprint("db-", i)},
		},
		Spec: corev1.PodSpec{
			NodeName:   "node-1",
			Containers: []corev1.Container{{Name: name, Image: "registry.example.com/db:16.4", VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/var/lib/db"}}}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: fmt.Sprint("data-db-", i)},
			}}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &at, ContainerStatuses: []corev1.ContainerStatus{{
			Name: name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}},
		}}},
	}
}

// TestAListThatComesAfterTheFirstOnesIsTaken grants the right to a kind while the last of the first lists arrives: its list
// is among the first ones, or is taken after them.
func TestAListThatComesAfterTheFirstOnesIsTaken(t *testing.T) {
	for range 300 {
		s := newTestStore(0)
		c := s.collector
		s.store.kind, s.store.resource = fact.VolumeAttachments, schema.GroupResource{Group: "storage.k8s.io", Resource: "volumeattachments"}
		s.failed(apierrors.NewForbidden(s.store.resource, "", nil))
		for _, kind := range fact.Kinds() {
			if kind != fact.VolumeAttachments && kind != fact.Pods {
				if _, err := c.keepFirst(kind, firstList{position: fact.Position{Kind: kind, ResourceVersion: "9"}}); err != nil {
					t.Fatal(err)
				}
			}
		}
		attachment := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "csi-1", UID: "va-1", ResourceVersion: "7"}}
		var both sync.WaitGroup
		both.Go(func() {
			if _, err := c.keepFirst(fact.Pods, firstList{position: fact.Position{Kind: fact.Pods, ResourceVersion: "9"}}); err != nil {
				t.Error(err)
			}
		})
		both.Go(func() {
			if err := s.Replace([]any{attachment}, "10"); err != nil {
				t.Error(err)
			}
		})
		both.Wait()
		if n := c.inv.Count(fact.VolumeAttachments); n != 1 {
			t.Fatalf("%d attachments", n)
		}
	}
}
