package soak

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// What a worker does to change a volume's state and its last use. The month of test/e2e has the same stories as chapters.

// veteran: a volume is used by one pod at the beginning, and by nobody later.
func (w *worker) veteran() {
	w.claim("veteran", "standard", "nfs")
	w.pod(w.in().Task("veteran", "1", harness.ClaimVolume("veteran")))
	w.until("veteran", hasEnded)
	w.removePod("veteran", false)
}

// inVain: a pod waits for a volume and is deleted before it has started. The volume is the veteran, whose user is
// soon forgotten, or one that was used just now, or a new one. Some pods wait for a while.
func (w *worker) inVain() {
	claim := "veteran"
	switch w.random.IntN(3) {
	case 0:
		claim = w.name("vain")
		w.claim(claim, "standard", "nfs")
	case 1:
		claim = w.name("vain")
		w.claim(claim, "standard", "nfs")
		w.pod(w.in().Task(w.name("before"), "1", harness.ClaimVolume(claim)))
		w.until(w.name("before"), hasEnded)
		w.removePod(w.name("before"), false)
	}
	pod := w.in().Unplaced(w.name("vain"), harness.ClaimVolume(claim))
	if w.random.IntN(2) == 0 {
		pod = w.in().Slow(w.name("vain"), harness.ClaimVolume(claim))
		w.pod(pod)
		w.until(pod.Name, isTaken)
		w.removePod(pod.Name, false)
	} else {
		w.pod(pod)
		w.idle()
	}
	w.left = append(w.left, func() {
		w.removePod(pod.Name, false)
		if claim != "veteran" {
			w.removeClaim(claim)
		}
	})
}

func isTaken(pod *corev1.Pod) bool { return pod.Status.StartTime != nil }

// refused: a kubelet rejects a pod.
func (w *worker) refused() {
	claim, pod := w.name("refused"), w.in().Slow(w.name("refused"), harness.ClaimVolume(w.name("refused")))
	w.claim(claim, "standard", "nfs")
	w.pod(pod)
	taken := false
	w.until(pod.Name, func(p *corev1.Pod) bool { taken = isTaken(p); return taken })
	if taken {
		w.insist("reject", func() error {
			_, err := w.c.Client.CoreV1().Pods(w.namespace).Patch(background, pod.Name, types.MergePatchType, []byte(harness.Rejection("OutOfcpu")), metav1.PatchOptions{}, "status")
			return err
		})
	} else {
		w.removePod(pod.Name, false)
	}
	w.left = append(w.left, func() {
		w.removePod(pod.Name, false)
		w.removeClaim(claim)
	})
}

// byHand creates a volume by hand, which only a claim that names it gets.
func (w *worker) byHand(name string) *corev1.PersistentVolume {
	v := harness.NFSVolume(fmt.Sprintf("%s-%s", w.namespace, name), "/"+name)
	v.Spec.StorageClassName = string(w.scope) + "by-hand"
	w.insist("create volume "+v.Name, func() error {
		_, err := w.c.Client.CoreV1().PersistentVolumes().Create(background, v, metav1.CreateOptions{})
		return err
	})
	return v
}

func (w *worker) removeVolume(v *corev1.PersistentVolume) {
	w.insist("delete volume "+v.Name, func() error {
		return w.c.Client.CoreV1().PersistentVolumes().Delete(background, v.Name, metav1.DeleteOptions{})
	})
}

// volumeIs waits until holds is true of a volume, or the volume is gone, for 15 seconds at most.
func (w *worker) volumeIs(v *corev1.PersistentVolume, holds func(*corev1.PersistentVolume) bool) {
	for start := time.Now(); time.Since(start) < 15*time.Second && w.ctx.Err() == nil; w.sleep(100 * time.Millisecond) {
		now, err := w.c.Client.CoreV1().PersistentVolumes().Get(background, v.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && holds(now) {
			return
		}
	}
}

func hasPhase(phase corev1.PersistentVolumePhase) func(*corev1.PersistentVolume) bool {
	return func(v *corev1.PersistentVolume) bool { return v.Status.Phase == phase }
}

func stays(*corev1.PersistentVolume) bool { return false } // volumeIs ends once the volume is gone

// reclaim changes a volume's claimRef to a claim that does not exist yet, or clears it.
func (w *worker) reclaim(v *corev1.PersistentVolume, claim string) {
	ref := "null"
	if claim != "" {
		ref = fmt.Sprintf(`{"namespace":%q,"name":%q,"uid":null,"resourceVersion":null}`, w.namespace, claim)
	}
	w.insist("change claimRef of "+v.Name, func() error {
		_, err := w.c.Client.CoreV1().PersistentVolumes().Patch(background, v.Name, types.MergePatchType, []byte(`{"spec":{"claimRef":`+ref+`}}`), metav1.PatchOptions{})
		return err
	})
}

// tenant runs a pod on a claim of a volume.
func (w *worker) tenant(name string, v *corev1.PersistentVolume) {
	w.create(w.in().ClaimFor(name, v))
	w.pod(w.in().Pod(name, harness.ClaimVolume(name)))
	w.until(name, runs)
}

// handedOver: a volume is given to another claim while a pod of the first one runs, which ends soon after, or much
// later. The second claim has a pod, or none, or one that waits.
func (w *worker) handedOver() {
	v := w.byHand(w.name("handed"))
	first, second := w.name("giver"), w.name("taker")
	w.tenant(first, v)
	w.reclaim(v, second)
	w.create(w.in().ClaimFor(second, v))
	w.volumeIs(v, hasPhase(corev1.VolumeBound))
	long := w.random.IntN(2) == 0
	if !long {
		w.idle()
		w.removePod(first, w.random.IntN(3) == 0)
	}
	switch w.random.IntN(3) {
	case 0:
		w.pod(w.in().Task(second, "1", harness.ClaimVolume(second)))
		w.until(second, hasEnded)
	case 1:
		w.pod(w.in().Unplaced(second, harness.ClaimVolume(second)))
	}
	w.left = append(w.left, func() {
		w.removePod(first, false)
		w.removePod(second, false)
		w.removeClaim(first)
		w.removeClaim(second)
		w.removeVolume(v)
	})
}

// cleared: a volume that was used is released and made available again. Another claim may get it.
func (w *worker) cleared() {
	v := w.byHand(w.name("cleared"))
	first, second := w.name("former"), w.name("next")
	w.tenant(first, v)
	w.removePod(first, w.random.IntN(3) == 0)
	w.removeClaim(first)
	w.volumeIs(v, hasPhase(corev1.VolumeReleased))
	w.reclaim(v, "")
	w.idle()
	if w.random.IntN(2) == 0 {
		w.create(w.in().ClaimFor(second, v))
		w.idle()
	}
	w.left = append(w.left, func() {
		w.removeClaim(second)
		w.removeVolume(v)
	})
}

// madeAgain: a volume is created again under its name. The second one is used, or not.
func (w *worker) madeAgain() {
	name := w.name("again")
	v := w.byHand(name)
	w.tenant(w.name("old"), v)
	w.removePod(w.name("old"), w.random.IntN(3) == 0)
	w.removeClaim(w.name("old"))
	w.volumeIs(v, hasPhase(corev1.VolumeReleased))
	w.removeVolume(v)
	w.volumeIs(v, stays)
	w.byHand(name)
	w.create(w.in().ClaimFor(w.name("new"), v))
	w.volumeIs(v, hasPhase(corev1.VolumeBound))
	if w.random.IntN(2) == 0 {
		w.pod(w.in().Task(w.name("new"), "1", harness.ClaimVolume(w.name("new"))))
		w.until(w.name("new"), hasEnded)
	}
	w.left = append(w.left, func() {
		w.removePod(w.name("new"), false)
		w.removeClaim(w.name("new"))
		w.removeVolume(v)
	})
}

// shrinking: a StatefulSet is scaled down, and deletes a claim.
func (w *worker) shrinking() {
	set := w.in().StatefulSet(w.name("shrinking"), w.oneOf("standard", "standard-retain"), 2, harness.PodSpec(harness.InlineVolume("data", corev1.VolumeSource{})))
	set.Spec.Template.Spec.Volumes = nil
	set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
	set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
		WhenScaled: appsv1.DeletePersistentVolumeClaimRetentionPolicyType, WhenDeleted: appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
	}
	sets := w.c.Client.AppsV1().StatefulSets(w.namespace)
	w.insist("create stateful set", func() error {
		_, err := sets.Create(background, set, metav1.CreateOptions{})
		return err
	})
	last := set.Name + "-1"
	w.until(set.Name+"-0", runs)
	w.until(last, runs)
	w.insist("scale down", func() error {
		_, err := sets.Patch(background, set.Name, types.MergePatchType, []byte(harness.Replicas(1)), metav1.PatchOptions{})
		return err
	})
	w.until(last, isGone)
	w.left = append(w.left, func() {
		w.insist("delete stateful set", func() error { return sets.Delete(background, set.Name, metav1.DeleteOptions{}) })
		w.removeClaim("data-" + set.Name + "-0")
	})
}
