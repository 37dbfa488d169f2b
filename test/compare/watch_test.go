package compare

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// bareWatch is a client that only watches pods: its delay is that of the API server.
type bareWatch struct {
	mu           sync.Mutex
	ended, began []time.Time // by pod
}

// watchPods watches the first n pods until the context ends.
func (b *benchCluster) watchPods(ctx context.Context, t testing.TB, n int) *bareWatch {
	t.Helper()
	pods := b.client.CoreV1().Pods(metav1.NamespaceAll)
	list, err := pods.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	events, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	w := &bareWatch{ended: make([]time.Time, n), began: make([]time.Time, n)}
	go func() {
		for event := range events.ResultChan() {
			if p, ok := event.Object.(*corev1.Pod); ok {
				w.note(event.Type, p)
			}
		}
	}()
	return w
}

func (w *bareWatch) note(event watch.EventType, p *corev1.Pod) {
	pod, err := strconv.Atoi(strings.TrimPrefix(p.Name, "db-"))
	if err != nil || pod >= len(w.ended) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case event == watch.Deleted:
		w.ended[pod] = time.Now()
	case p.Status.Phase == corev1.PodRunning && w.began[pod].IsZero():
		w.began[pod] = time.Now()
	}
}

// received returns when the watch got the event of a pod's change, and zero if it has not.
func (w *bareWatch) received(pod int, runs bool) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if runs {
		return w.began[pod]
	}
	return w.ended[pod]
}
