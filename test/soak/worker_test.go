package soak

import (
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// worker does one thing after another in its namespace.
type worker struct {
	*churn
	random    *rand.Rand
	namespace string
	n         int
	left      []func() // functions that delete what is left
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

// idle waits for half to two times the pause.
func (w *worker) idle() { w.sleep(w.pause/2 + time.Duration(w.random.Int64N(int64(w.pause*3/2)))) }

func (w *worker) sleep(d time.Duration) {
	select {
	case <-w.ctx.Done():
	case <-time.After(d):
	}
}

// insist repeats a request until the API server accepts it. A request whose answer was lost may be answered by
// AlreadyExists or NotFound then.
func (w *worker) insist(what string, do func() error) {
	var err error
	for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(100 * time.Millisecond) {
		if err = do(); err == nil || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) || apierrors.IsInvalid(err) {
			return
		}
	}
	w.t.Errorf("%s: %v", what, err)
}

func (w *worker) in() harness.Namespace { return harness.Namespace(w.namespace) }

func (w *worker) name(kind string) string { return fmt.Sprintf("%s-%d", kind, w.n) }

func (w *worker) oneOf(classes ...string) string { return classes[w.random.IntN(len(classes))] }

func (w *worker) claim(name string, classes ...string) {
	w.create(w.in().Claim(name, w.oneOf(classes...)))
}

// create creates a claim with a random owner.
func (w *worker) create(claim *corev1.PersistentVolumeClaim) {
	name := claim.Name
	claim.Labels = map[string]string{"owner": w.oneOf("anna", "bela", "carla")}
	w.insist("create claim "+name, func() error {
		_, err := w.c.Client.CoreV1().PersistentVolumeClaims(w.namespace).Create(background, claim, metav1.CreateOptions{})
		return err
	})
}

func (w *worker) pod(pod *corev1.Pod) {
	w.insist("create pod "+pod.Name, func() error {
		_, err := w.c.Client.CoreV1().Pods(w.namespace).Create(background, pod, metav1.CreateOptions{})
		return err
	})
}

// until waits until holds is true of a pod, or the pod is gone, for 15 seconds at most.
func (w *worker) until(name string, holds func(*corev1.Pod) bool) {
	for start := time.Now(); time.Since(start) < 15*time.Second && w.ctx.Err() == nil; w.sleep(100 * time.Millisecond) {
		pod, err := w.c.Client.CoreV1().Pods(w.namespace).Get(background, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && holds(pod) {
			return
		}
	}
}

func runs(pod *corev1.Pod) bool   { return pod.Status.Phase == corev1.PodRunning }
func isGone(*corev1.Pod) bool     { return false } // until ends once the pod is gone
func hasEnded(p *corev1.Pod) bool { return harness.HasEnded(p) }

func (w *worker) removePod(n string, force bool) {
	options := metav1.DeleteOptions{}
	if force {
		options = *metav1.NewDeleteOptions(0)
	}
	w.insist("delete pod "+n, func() error {
		return w.c.Client.CoreV1().Pods(w.namespace).Delete(background, n, options)
	})
}

func (w *worker) removeClaim(n string) {
	w.insist("delete claim "+n, func() error {
		return w.c.Client.CoreV1().PersistentVolumeClaims(w.namespace).Delete(background, n, metav1.DeleteOptions{})
	})
}
