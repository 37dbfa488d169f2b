package main

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// TestPodsDoNotGetTheEndsOfTheirNamesakes has kwok write late that pods have ended, when others have their names.
func TestPodsDoNotGetTheEndsOfTheirNamesakes(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dir := t.TempDir()
	_, client := startCluster(t, dir)
	pods := namesakes{client.CoreV1().Pods("default")}
	kwok, err := readPID(layout{dir: dir}, kwokController)
	if err != nil {
		t.Fatal(err)
	}

	pods.awaitRun(ctx, t, pods.create(ctx, t))
	pods.delete(ctx, t, metav1.DeleteOptions{})
	end := time.After(stopSeconds * time.Second)
	time.Sleep(time.Second) // kwok knows now when it is to end them
	sendSignal(t, kwok, syscall.SIGSTOP)
	t.Cleanup(func() { _ = syscall.Kill(kwok, syscall.SIGCONT) }) // a stopped process would not end with the cluster
	pods.delete(ctx, t, *metav1.NewDeleteOptions(0))
	second := pods.create(ctx, t)
	<-end
	sendSignal(t, kwok, syscall.SIGCONT)
	pods.awaitRun(ctx, t, second)
	if !auditHasRefusal(t, dir) {
		t.Error("the API server refused nothing that kwok wrote late")
	}
}

// auditHasRefusal reports whether the API server refused a status that kwok wrote, as a UID cannot change.
func auditHasRefusal(t *testing.T, dir string) bool {
	t.Helper()
	for line := range auditLines(t, dir) {
		if bytes.Contains(line, []byte(`"username":"`+kwokUser)) && bytes.Contains(line, []byte(`"subresource":"status"`)) && bytes.Contains(line, []byte(`"code":422`)) {
			return true
		}
	}
	return false
}

// stopSeconds is how long after their deletion kwok ends the pods.
const stopSeconds = 4

// namesakes are ten pods, again and again.
type namesakes struct{ typedv1.PodInterface }

func (n namesakes) names() (names []string) {
	for i := range 10 {
		names = append(names, fmt.Sprint("pod-", i))
	}
	return names
}

// create creates the pods, and returns a list of them.
func (n namesakes) create(ctx context.Context, t *testing.T) *corev1.PodList {
	t.Helper()
	for _, name := range n.names() {
		pod := newPod(name)
		pod.Spec.InitContainers = nil
		pod.Annotations = map[string]string{"localcluster.kubevoltracker.io/stop-seconds": strconv.Itoa(stopSeconds)}
		if _, err := n.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	list, err := n.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func (n namesakes) delete(ctx context.Context, t *testing.T, options metav1.DeleteOptions) {
	t.Helper()
	for _, name := range n.names() {
		if err := n.Delete(ctx, name, options); err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
}

// awaitRun waits until the pods of a list run. None may end before.
func (n namesakes) awaitRun(ctx context.Context, t *testing.T, list *corev1.PodList) {
	t.Helper()
	waiting := map[types.UID]bool{}
	for _, pod := range list.Items {
		if pod.Status.Phase == corev1.PodPending {
			waiting[pod.UID] = true
		}
	}
	events, err := n.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	for len(waiting) > 0 {
		var event watch.Event
		select {
		case event = <-events.ResultChan():
		case <-ctx.Done():
			t.Fatalf("%d pods do not run", len(waiting))
		}
		pod, ok := event.Object.(*corev1.Pod)
		if !ok {
			t.Fatalf("the watch ended: %v", event.Object)
		}
		if waiting[pod.UID] && pod.Status.Phase == corev1.PodSucceeded {
			t.Errorf("%s ended before it ran", pod.Name)
		}
		if pod.Status.Phase != corev1.PodPending {
			delete(waiting, pod.UID)
		}
	}
}

func sendSignal(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Fatal(err)
	}
}
