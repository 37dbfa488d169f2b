package e2e

import (
	"encoding/json"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// story is what a chapter is played with. Its methods create, change and delete objects and wait for their states; a
// failure ends the chapter.
type story struct {
	t       *testing.T
	c       *harness.LocalCluster
	objects dynamic.Interface
	harness.Namespace
}

// object is an object of the API.
type object interface {
	runtime.Object
	metav1.Object
}

// client returns the client for an object's resource.
func (s *story) client(o object) dynamic.ResourceInterface {
	s.t.Helper()
	kinds, _, err := scheme.Scheme.ObjectKinds(o)
	if err != nil {
		s.t.Fatal(err)
	}
	plural, _ := meta.UnsafeGuessKindToResource(kinds[0])
	return s.objects.Resource(plural).Namespace(o.GetNamespace())
}

// fill decodes an answer into an object.
func (s *story) fill(o object, got *unstructured.Unstructured) {
	s.t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(got.Object, o); err != nil {
		s.t.Fatal(err)
	}
}

// create creates objects, and updates them by the answers.
func (s *story) create(list ...object) {
	s.t.Helper()
	for _, o := range list {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			s.t.Fatal(err)
		}
		kinds, _, err := scheme.Scheme.ObjectKinds(o)
		if err != nil {
			s.t.Fatal(err)
		}
		u := &unstructured.Unstructured{Object: fields}
		u.SetGroupVersionKind(kinds[0])
		got, err := s.client(o).Create(background, u, metav1.CreateOptions{})
		if err != nil {
			s.t.Fatalf("create %s %s: %v", kinds[0].Kind, o.GetName(), err)
		}
		s.fill(o, got)
	}
}

// patch applies a merge patch to an object, and updates it by the answer.
func (s *story) patch(o object, patch string, subresource ...string) {
	s.t.Helper()
	got, err := s.client(o).Patch(background, o.GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresource...)
	if err != nil {
		s.t.Fatalf("patch %s with %s: %v", o.GetName(), patch, err)
	}
	s.fill(o, got)
}

// ask requests the deletion of objects as kubectl does, and does not wait for it.
func (s *story) ask(list ...object) {
	s.t.Helper()
	for _, o := range list {
		policy := metav1.DeletePropagationBackground
		if err := s.client(o).Delete(background, o.GetName(), metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
			s.t.Fatalf("delete %s: %v", o.GetName(), err)
		}
	}
}

// force deletes a pod without a grace period.
func (s *story) force(pod *corev1.Pod) {
	s.t.Helper()
	if err := s.client(pod).Delete(background, pod.Name, *metav1.NewDeleteOptions(0)); err != nil {
		s.t.Fatal(err)
	}
}

// gone waits until objects do not exist any more. An object that was never read is known by its name.
func (s *story) gone(list ...object) {
	s.t.Helper()
	for _, o := range list {
		harness.Eventually(s.t, o.GetName()+" is gone", func() error {
			got, err := s.client(o).Get(background, o.GetName(), metav1.GetOptions{})
			if apierrors.IsNotFound(err) || (err == nil && o.GetUID() != "" && got.GetUID() != o.GetUID()) {
				return nil
			}
			return fmt.Errorf("it is there: %w", err)
		})
	}
}

// remove deletes objects and waits until they are gone.
func (s *story) remove(list ...object) {
	s.t.Helper()
	s.ask(list...)
	s.gone(list...)
}

// until reads an object until holds is true.
func (s *story) until(what string, o object, holds func() bool) {
	s.t.Helper()
	harness.Eventually(s.t, o.GetName()+" "+what, func() error {
		got, err := s.client(o).Get(background, o.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		s.fill(o, got)
		if !holds() {
			status, _ := json.Marshal(got.Object["status"])
			return fmt.Errorf("its status is %s", status)
		}
		return nil
	})
}

// ownClass creates a storage class for a chapter in which a volume becomes Available, so that no claim of another
// chapter gets it. Its volumes are retained.
func (s *story) ownClass(name string) *storagev1.StorageClass {
	s.t.Helper()
	class, err := s.c.Client.StorageV1().StorageClasses().Get(background, "standard-retain", metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	class.ObjectMeta = metav1.ObjectMeta{Name: name}
	s.create(class)
	return class
}

// volume describes a volume made by hand on an NFS export. It is retained.
func (s *story) volume(name, export string) *corev1.PersistentVolume {
	volume := harness.NFSVolume("month-"+name, export)
	volume.Labels = map[string]string{monthLabel: name}
	return volume
}

// evict requests the eviction of a pod, as `kubectl drain` does, and waits until it is gone.
func (s *story) evict(pod *corev1.Pod) {
	s.t.Helper()
	err := s.c.Client.PolicyV1().Evictions(pod.Namespace).Evict(background, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.gone(pod)
}

// used creates a claim whose volume one pod has used, which is gone.
func (s *story) used(name, class string) *corev1.PersistentVolumeClaim {
	s.t.Helper()
	claim, pod := s.Claim(name, class), s.Task("first-user-of-"+name, "1", harness.ClaimVolume(name))
	s.create(claim, pod)
	s.completed(pod)
	s.remove(pod)
	return claim
}

// taken waits until the kubelets of pods have accepted them.
func (s *story) taken(pods ...*corev1.Pod) {
	s.t.Helper()
	for _, pod := range pods {
		s.until("is taken", pod, func() bool { return pod.Status.StartTime != nil })
	}
}

// reject writes the status of a kubelet that rejects a pod.
func (s *story) reject(pod *corev1.Pod, reason string) {
	s.t.Helper()
	s.patch(pod, harness.Rejection(reason), "status")
}
