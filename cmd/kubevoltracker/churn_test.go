package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// churn makes pods and claims that come and go, by a seed, until it is stopped.
// Whatever the API server does, it tries again.
type churn struct {
	t     testing.TB
	c     *localCluster
	scope scope
	pause time.Duration // between two things that one worker does; half as long or double

	ctx     context.Context
	cancel  context.CancelFunc
	workers sync.WaitGroup
	done    atomic.Int64
}

// startChurn starts workers in namespaces of their own.
func startChurn(t testing.TB, c *localCluster, s scope, seed uint64, workers int, pause time.Duration) *churn {
	t.Helper()
	ctx, cancel := context.WithCancel(background)
	ch := &churn{t: t, c: c, scope: s, pause: pause, ctx: ctx, cancel: cancel}
	t.Cleanup(ch.remove)
	for i := range workers {
		w := &worker{churn: ch, random: rand.New(rand.NewPCG(seed, uint64(i))), namespace: fmt.Sprintf("%s%d", s, i)}
		w.insist("create namespace", func() error {
			_, err := c.client.CoreV1().Namespaces().Create(background, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}, metav1.CreateOptions{})
			return err
		})
		ch.workers.Go(w.work)
	}
	return ch
}

// stop lets the workers end what they do.
func (ch *churn) stop() {
	ch.cancel()
	ch.workers.Wait()
}

// remove takes away what is left, so that it is not in other tests' way.
func (ch *churn) remove() {
	ch.stop()
	core := ch.c.client.CoreV1()
	namespaces, err := core.Namespaces().List(background, metav1.ListOptions{})
	if err != nil {
		ch.t.Error(err)
		return
	}
	for i := range namespaces.Items {
		if ch.scope.owns(&namespaces.Items[i]) {
			_ = core.Namespaces().Delete(background, namespaces.Items[i].Name, metav1.DeleteOptions{})
		}
	}
	volumes, err := core.PersistentVolumes().List(background, metav1.ListOptions{})
	if err != nil {
		ch.t.Error(err)
		return
	}
	for i := range volumes.Items {
		if v := &volumes.Items[i]; ch.scope.owns(v) && v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRetain {
			_ = core.PersistentVolumes().Delete(background, v.Name, metav1.DeleteOptions{})
		}
	}
}

// quiet waits until nothing is on its way in the cluster any more.
func (ch *churn) quiet() error {
	pods, err := ch.c.client.CoreV1().Pods("").List(background, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		if p := &pods.Items[i]; ch.scope.owns(p) && (p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodPending && p.Spec.NodeName != "") {
			return fmt.Errorf("pod %s/%s is on its way", p.Namespace, p.Name)
		}
	}
	claims, err := ch.c.client.CoreV1().PersistentVolumeClaims("").List(background, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range claims.Items {
		if p := &claims.Items[i]; ch.scope.owns(p) && p.DeletionTimestamp != nil {
			return fmt.Errorf("claim %s/%s is on its way", p.Namespace, p.Name)
		}
	}
	return nil
}

// worker does one thing after another.
type worker struct {
	*churn
	random    *rand.Rand
	namespace string
	n         int
	left      []func() // what takes away things that were left
}

func (w *worker) work() {
	things := []func(){
		w.task, w.task, w.service, w.service, w.set, w.fleeting, w.team, w.inLine, w.unused, w.waits, w.heir,
		w.inVain, w.inVain, w.refused, w.handedOver, w.handedOver, w.cleared, w.madeAgain, w.shrinking,
	}
	w.veteran()
	for w.ctx.Err() == nil {
		w.n++
		things[w.random.IntN(len(things))]()
		w.done.Add(1)
		for len(w.left) > 5 {
			w.left[0]()
			w.left = w.left[1:]
		}
		w.idle()
	}
}

// idle waits for a while.
func (w *worker) idle() { w.sleep(w.pause/2 + time.Duration(w.random.Int64N(int64(w.pause*3/2)))) }

func (w *worker) sleep(d time.Duration) {
	select {
	case <-w.ctx.Done():
	case <-time.After(d):
	}
}

// insist does something until the API server takes it. What an attempt did whose answer
// was lost is done.
func (w *worker) insist(what string, do func() error) {
	var err error
	for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(100 * time.Millisecond) {
		if err = do(); err == nil || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) || apierrors.IsInvalid(err) {
			return
		}
	}
	w.t.Errorf("%s: %v", what, err)
}

func (w *worker) story() *story { return &story{namespace: w.namespace} }

func (w *worker) name(kind string) string { return fmt.Sprintf("%s-%d", kind, w.n) }

func (w *worker) oneOf(classes ...string) string { return classes[w.random.IntN(len(classes))] }

func (w *worker) claim(name string, classes ...string) {
	w.create(w.story().claim(name, w.oneOf(classes...)))
}

// create makes a claim; each has an owner.
func (w *worker) create(claim *corev1.PersistentVolumeClaim) {
	name := claim.Name
	claim.Labels = map[string]string{"owner": w.oneOf("anna", "bela", "carla")}
	w.insist("create claim "+name, func() error {
		_, err := w.c.client.CoreV1().PersistentVolumeClaims(w.namespace).Create(background, claim, metav1.CreateOptions{})
		return err
	})
}

func (w *worker) pod(pod *corev1.Pod) {
	w.insist("create pod "+pod.Name, func() error {
		_, err := w.c.client.CoreV1().Pods(w.namespace).Create(background, pod, metav1.CreateOptions{})
		return err
	})
}

// until waits until a pod is as it should be, or is gone, but not for ever.
func (w *worker) until(name string, holds func(*corev1.Pod) bool) {
	for start := time.Now(); time.Since(start) < 15*time.Second && w.ctx.Err() == nil; w.sleep(100 * time.Millisecond) {
		pod, err := w.c.client.CoreV1().Pods(w.namespace).Get(background, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && holds(pod) {
			return
		}
	}
}

func runs(pod *corev1.Pod) bool   { return pod.Status.Phase == corev1.PodRunning }
func isGone(*corev1.Pod) bool     { return false } // until the API server does not find it
func hasEnded(p *corev1.Pod) bool { return ended(p) }

func (w *worker) removePod(n string, force bool) {
	options := metav1.DeleteOptions{}
	if force {
		options = *metav1.NewDeleteOptions(0)
	}
	w.insist("delete pod "+n, func() error {
		return w.c.client.CoreV1().Pods(w.namespace).Delete(background, n, options)
	})
}

func (w *worker) removeClaim(n string) {
	w.insist("delete claim "+n, func() error {
		return w.c.client.CoreV1().PersistentVolumeClaims(w.namespace).Delete(background, n, metav1.DeleteOptions{})
	})
}

// task runs to its end and is tidied up, in either order.
func (w *worker) task() {
	claim, pod := w.name("task"), w.story().task(w.name("task"), strconv.Itoa(1+w.random.IntN(2)), of(w.name("task")))
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

// service runs, grows, and stays for a while.
func (w *worker) service() {
	claim, pod := w.name("service"), w.story().pod(w.name("service"), of(w.name("service")))
	w.claim(claim, "standard", "late", "standard-retain")
	w.pod(pod)
	w.until(pod.Name, runs)
	if w.random.IntN(2) == 0 {
		w.insist("expand", func() error {
			_, err := w.c.client.CoreV1().PersistentVolumeClaims(w.namespace).Patch(background, claim, types.MergePatchType, []byte(request("2Gi")), metav1.PatchOptions{})
			return err
		})
	}
	force := w.random.IntN(2) == 0
	w.left = append(w.left, func() {
		w.removePod(pod.Name, force)
		w.removeClaim(claim)
	})
}

// set is what a StatefulSet does: one pod after the other, of one name, on one claim.
func (w *worker) set() {
	claim := w.name("set")
	w.claim(claim, "standard", "nfs")
	for range 2 + w.random.IntN(2) {
		pod := w.story().pod(claim, of(claim))
		w.pod(pod)
		w.until(pod.Name, runs)
		w.idle()
		w.removePod(pod.Name, w.random.IntN(3) == 0)
		w.until(pod.Name, isGone)
	}
	w.removeClaim(claim)
}

// fleeting is gone as soon as it is there.
func (w *worker) fleeting() {
	claim, pod := w.name("fleeting"), w.story().pod(w.name("fleeting"), of(w.name("fleeting")))
	w.claim(claim, "standard", "late")
	w.pod(pod)
	if w.random.IntN(2) == 0 {
		w.idle()
	}
	w.removePod(pod.Name, w.random.IntN(2) == 0)
	w.removeClaim(claim)
}

// team shares a claim.
func (w *worker) team() {
	claim := w.name("team")
	w.claim(claim, "nfs")
	var pods []string
	for i := range 3 {
		pod := w.story().pod(fmt.Sprintf("%s-%d", claim, i), of(claim))
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

// inLine has volumes of the pod's own.
func (w *worker) inLine() {
	pod := w.story().pod(w.name("inline"), inLine("scratch", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}), w.story().ephemeral("own", "standard"))
	w.pod(pod)
	w.until(pod.Name, runs)
	w.removePod(pod.Name, false)
}

// unused is never mounted.
func (w *worker) unused() {
	claim := w.name("unused")
	w.claim(claim, "standard", "late", "nfs")
	w.idle()
	w.removeClaim(claim)
}

// waits is a pod without its claim, which comes later.
func (w *worker) waits() {
	claim, pod := w.name("waits"), w.story().pod(w.name("waits"), of(w.name("waits")))
	w.pod(pod)
	w.idle()
	w.claim(claim, "standard")
	w.until(pod.Name, runs)
	w.removePod(pod.Name, false)
	w.removeClaim(claim)
}

// heir is another claim of the same name, with another pod of the same name.
func (w *worker) heir() {
	name := w.name("heir")
	for range 2 {
		w.claim(name, "standard", "nfs")
		w.pod(w.story().pod(name, of(name)))
		w.until(name, runs)
		w.removePod(name, false)
		w.removeClaim(name)
		w.until(name, isGone)
		for start := time.Now(); time.Since(start) < 10*time.Second && w.ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
			if _, err := w.c.client.CoreV1().PersistentVolumeClaims(w.namespace).Get(background, name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
				break
			}
		}
	}
}

// follow reads the audit log while it grows, so that no file of it is missed.
func (ch *churn) follow(log *auditLog) (stop func() error) {
	done, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			if err := log.read(); err != nil {
				ended <- err
				return
			}
			select {
			case <-done:
				ended <- nil
				return
			case <-time.After(5 * time.Second):
			}
		}
	}()
	return func() error { close(done); return <-ended }
}
