package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// adminClient returns a client that may do everything, and its configuration.
func (l layout) adminClient() (kubernetes.Interface, *rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", l.kubeconfig())
	if err != nil {
		return nil, nil, err
	}
	config.QPS, config.Burst = 200, 400
	client, err := kubernetes.NewForConfig(config)
	return client, config, err
}

// ready asks the API server for a verdict on itself. Which of its checks fail is in its
// log; here it is enough that some do.
func ready(ctx context.Context, client kubernetes.Interface) error {
	err := client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	if apierrors.IsInternalError(err) {
		return errors.New("it is starting")
	}
	return err
}

// nodesReady is nil once n nodes are ready and take pods.
func nodesReady(ctx context.Context, client kubernetes.Interface, n int) error {
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	ready := 0
	for i := range list.Items {
		if node := &list.Items[i]; len(node.Spec.Taints) == 0 && isReady(node) {
			ready++
		}
	}
	if ready < n {
		return fmt.Errorf("%d of %d are ready", ready, n)
	}
	return nil
}

// kubeletReady is nil once the real kubelet's node is ready, and says on which port its
// kubelet is. That of a resumed cluster is said to be ready from before, on another port.
func kubeletReady(ctx context.Context, client kubernetes.Interface, port int) error {
	node, err := client.CoreV1().Nodes().Get(ctx, kubeletNode, metav1.GetOptions{})
	if err != nil {
		return err
	}
	told := int(node.Status.DaemonEndpoints.KubeletEndpoint.Port)
	if !isReady(node) || told != port || len(node.Spec.Taints) > 1 {
		return fmt.Errorf("ready: %t, port %d, taints %v", isReady(node), told, node.Spec.Taints)
	}
	return nil
}

func isReady(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// healthy asks a component's own port.
func healthy(ctx context.Context, config *rest.Config, port int, path string) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, local(port)+path, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return nil
}

// waitFor repeats test until it succeeds. The error that it returns is the last that
// test returned, which says more than that time is up.
func waitFor(ctx context.Context, what string, test func(context.Context) error) error {
	var last error
	if wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := test(ctx)
		if ctx.Err() == nil || last == nil {
			last = err
		}
		return err == nil, nil
	}) == nil {
		return nil
	}
	return fmt.Errorf("waiting for %s: %w: %w", what, context.Cause(ctx), last)
}
