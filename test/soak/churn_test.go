package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
	"github.com/kubevoltracker/kubevoltracker/test/truth"
)

// churn creates, changes and deletes pods, claims and volumes by a seed, until it is stopped. It tries again
// whatever the API server answers.
type churn struct {
	t     testing.TB
	c     *harness.LocalCluster
	scope truth.Scope
	pause time.Duration // between two things that one worker does

	ctx     context.Context
	cancel  context.CancelFunc
	workers sync.WaitGroup
	done    atomic.Int64
}

// startChurn starts workers, each in a namespace of its own.
func startChurn(t testing.TB, c *harness.LocalCluster, s truth.Scope, seed uint64, workers int, pause time.Duration) *churn {
	t.Helper()
	ctx, cancel := context.WithCancel(background)
	ch := &churn{t: t, c: c, scope: s, pause: pause, ctx: ctx, cancel: cancel}
	t.Cleanup(ch.remove)
	for i := range workers {
		w := &worker{churn: ch, random: rand.New(rand.NewPCG(seed, uint64(i))), namespace: fmt.Sprintf("%s%d", s, i)}
		w.insist("create namespace", func() error {
			_, err := c.Client.CoreV1().Namespaces().Create(background, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}, metav1.CreateOptions{})
			return err
		})
		ch.workers.Go(w.work)
	}
	return ch
}

// stop waits until the workers have finished what they do.
func (ch *churn) stop() {
	ch.cancel()
	ch.workers.Wait()
}

// remove deletes what is left, so that it does not disturb other tests.
func (ch *churn) remove() {
	ch.stop()
	core := ch.c.Client.CoreV1()
	namespaces, err := core.Namespaces().List(background, metav1.ListOptions{})
	if err != nil {
		ch.t.Error(err)
		return
	}
	for i := range namespaces.Items {
		if ch.scope.Owns(&namespaces.Items[i]) {
			_ = core.Namespaces().Delete(background, namespaces.Items[i].Name, metav1.DeleteOptions{})
		}
	}
	volumes, err := core.PersistentVolumes().List(background, metav1.ListOptions{})
	if err != nil {
		ch.t.Error(err)
		return
	}
	for i := range volumes.Items {
		if v := &volumes.Items[i]; ch.scope.Owns(v) && v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRetain {
			_ = core.PersistentVolumes().Delete(background, v.Name, metav1.DeleteOptions{})
		}
	}
}

// quiet returns an error while objects of the churn still change.
func (ch *churn) quiet() error {
	pods, err := ch.c.Client.CoreV1().Pods("").List(background, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		if p := &pods.Items[i]; ch.scope.Owns(p) && (p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodPending && p.Spec.NodeName != "") {
			return fmt.Errorf("pod %s/%s is on its way", p.Namespace, p.Name)
		}
	}
	claims, err := ch.c.Client.CoreV1().PersistentVolumeClaims("").List(background, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range claims.Items {
		if p := &claims.Items[i]; ch.scope.Owns(p) && p.DeletionTimestamp != nil {
			return fmt.Errorf("claim %s/%s is on its way", p.Namespace, p.Name)
		}
	}
	return nil
}

// follow reads the audit log while it grows, so that it misses none of its files. The function that it returns ends
// that.
func (ch *churn) follow(log *truth.Log) (stop func() error) {
	done, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			if err := log.Read(); err != nil {
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
