package soak

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// task: a pod completes, and the pod and its claim are deleted in either order.
func (w *worker) task() {
	claim, pod := w.name("task"), w.in().Task(w.name("task"), strconv.Itoa(1+w.random.IntN(2)), harness.ClaimVolume(w.name("task")))
	w.claim(claim, "standard", "late", "nfs")
	w.pod(pod)
	w.until(pod.Name, hasEnded)
	if w.random.IntN(2) == 0 {
		w.removeClaim(claim)
		w.idle()
		w.removePod(pod.Name, false)
		return
	}
	w.removePod(pod.Name, false)
	w.removeClaim(claim)
}

// service: a pod runs for a while. Its claim may grow.
func (w *worker) service() {
	claim, pod := w.name("service"), w.in().Pod(w.name("service"), harness.ClaimVolume(w.name("service")))
	w.claim(claim, "standard", "late", "standard-retain")
	w.pod(pod)
	w.until(pod.Name, runs)
	if w.random.IntN(2) == 0 {
		w.insist("expand", func() error {
			_, err := w.c.Client.CoreV1().PersistentVolumeClaims(w.namespace).Patch(background, claim, types.MergePatchType, []byte(harness.RequestSize("2Gi")), metav1.PatchOptions{})
			return err
		})
	}
	force := w.random.IntN(2) == 0
	w.left = append(w.left, func() {
		w.removePod(pod.Name, force)
		w.removeClaim(claim)
	})
}

// set: pods of one name follow each other on one claim, as those of a StatefulSet do.
func (w *worker) set() {
	claim := w.name("set")
	w.claim(claim, "standard", "nfs")
	for range 2 + w.random.IntN(2) {
		pod := w.in().Pod(claim, harness.ClaimVolume(claim))
		w.pod(pod)
		w.until(pod.Name, runs)
		w.idle()
		w.removePod(pod.Name, w.random.IntN(3) == 0)
		w.until(pod.Name, isGone)
	}
	w.removeClaim(claim)
}

// fleeting: a pod and its claim are deleted as soon as they are created.
func (w *worker) fleeting() {
	claim, pod := w.name("fleeting"), w.in().Pod(w.name("fleeting"), harness.ClaimVolume(w.name("fleeting")))
	w.claim(claim, "standard", "late")
	w.pod(pod)
	if w.random.IntN(2) == 0 {
		w.idle()
	}
	w.removePod(pod.Name, w.random.IntN(2) == 0)
	w.removeClaim(claim)
}

// team: several pods share a claim.
func (w *worker) team() {
	claim := w.name("team")
	w.claim(claim, "nfs")
	var pods []string
	for i := range 3 {
		pod := w.in().Pod(fmt.Sprintf("%s-%d", claim, i), harness.ClaimVolume(claim))
		w.pod(pod)
		pods = append(pods, pod.Name)
	}
	w.until(pods[2], runs)
	for _, pod := range pods {
		w.idle()
		w.removePod(pod, false)
	}
	w.removeClaim(claim)
}

// inLine: a pod has an emptyDir and a generic ephemeral volume.
func (w *worker) inLine() {
	pod := w.in().Pod(w.name("inline"), harness.InlineVolume("scratch", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}), w.in().Ephemeral("own", "standard"))
	w.pod(pod)
	w.until(pod.Name, runs)
	w.removePod(pod.Name, false)
}

// unused: nobody mounts a claim.
func (w *worker) unused() {
	claim := w.name("unused")
	w.claim(claim, "standard", "late", "nfs")
	w.idle()
	w.removeClaim(claim)
}

// waits: a pod is created before its claim.
func (w *worker) waits() {
	claim, pod := w.name("waits"), w.in().Pod(w.name("waits"), harness.ClaimVolume(w.name("waits")))
	w.pod(pod)
	w.idle()
	w.claim(claim, "standard")
	w.until(pod.Name, runs)
	w.removePod(pod.Name, false)
	w.removeClaim(claim)
}

// heir: a second claim and a second pod have the names of the first ones.
func (w *worker) heir() {
	name := w.name("heir")
	for range 2 {
		w.claim(name, "standard", "nfs")
		w.pod(w.in().Pod(name, harness.ClaimVolume(name)))
		w.until(name, runs)
		w.removePod(name, false)
		w.removeClaim(name)
		w.until(name, isGone)
		for start := time.Now(); time.Since(start) < 10*time.Second && w.ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
			if _, err := w.c.Client.CoreV1().PersistentVolumeClaims(w.namespace).Get(background, name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
				break
			}
		}
	}
}
