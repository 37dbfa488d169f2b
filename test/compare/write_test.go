package compare

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// benchWriters is how many requests the API server is given at once.
const benchWriters = 32

// benchCluster is an API server with nothing but what is written here. No controller touches it.
type benchCluster struct {
	kubeconfig string
	client     *kubernetes.Clientset
	etcd       *benchEtcd
	owners     map[string]types.UID // of the pods, by namespace
	pods       []*corev1.Pod        // as they are now
}

func startBenchCluster(t testing.TB) *benchCluster {
	t.Helper()
	c, err := harness.StartCluster(harness.Program(t, "localcluster"), "--bare")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.ContentType = -1, runtime.ContentTypeProtobuf
	b := &benchCluster{kubeconfig: c.Kubeconfig, etcd: newBenchEtcd(t, c), owners: map[string]types.UID{}}
	if b.client, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	if _, err = b.client.StorageV1().StorageClasses().Create(background, benchClassObject(), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", i), Labels: map[string]string{corev1.LabelTopologyZone: "zone-a"}}}
		if _, err = b.client.CoreV1().Nodes().Create(background, node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// grow writes objects until there are n of each kind.
func (b *benchCluster) grow(t testing.TB, n int) {
	t.Helper()
	for i := range n {
		if namespace := benchNamespace(i); b.owners[namespace] == "" {
			b.addNamespace(t, namespace)
		}
	}
	from := len(b.pods)
	b.pods = append(b.pods, make([]*corev1.Pod, n-from)...)
	group, ctx := errgroup.WithContext(background)
	group.SetLimit(benchWriters)
	start := time.Now()
	for i := from; i < n; i++ {
		group.Go(func() error { return b.add(ctx, i) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d volumes, claims and pods are written; the last %d took %s", n, n-from, time.Since(start).Round(time.Second))
}

func (b *benchCluster) addNamespace(t testing.TB, name string) {
	t.Helper()
	core := b.client.CoreV1()
	if _, err := core.Namespaces().Create(background, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := core.ServiceAccounts(name).Create(background, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	set, err := b.client.AppsV1().StatefulSets(name).Create(background, benchSet(name), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b.owners[name] = set.UID
}

// add writes a claim, its volume, bound to each other, and its pod.
func (b *benchCluster) add(ctx context.Context, i int) error {
	core := b.client.CoreV1()
	want := benchClaim(i)
	claim, err := core.PersistentVolumeClaims(want.Namespace).Create(ctx, want, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	claim.Status = want.Status
	if _, err = core.PersistentVolumeClaims(claim.Namespace).UpdateStatus(ctx, claim, metav1.UpdateOptions{}); err != nil {
		return err
	}
	wantVolume := benchVolume(i, claim)
	volume, err := core.PersistentVolumes().Create(ctx, wantVolume, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	volume.Status = wantVolume.Status
	if _, err = core.PersistentVolumes().UpdateStatus(ctx, volume, metav1.UpdateOptions{}); err != nil {
		return err
	}
	p := benchPod(i, b.owners[claim.Namespace])
	status := p.Status
	if b.pods[i], err = core.Pods(p.Namespace).Create(ctx, p, metav1.CreateOptions{}); err != nil {
		return err
	}
	b.pods[i].Status = status
	return b.writeStatus(ctx, i)
}

func (b *benchCluster) writeStatus(ctx context.Context, i int) error {
	p := b.pods[i]
	p.ResourceVersion = "" // whatever it is at
	_, err := b.client.CoreV1().Pods(p.Namespace).UpdateStatus(ctx, p, metav1.UpdateOptions{})
	return err
}

// atRate does n things at a rate, if it can, and returns the rate that it reached.
func atRate(t testing.TB, n int, perSecond float64, do func(i int) error) float64 {
	t.Helper()
	work := make(chan int)
	var group sync.WaitGroup
	for range benchWriters {
		group.Go(func() {
			for i := range work {
				if err := do(i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	start := time.Now()
	for i := range n {
		time.Sleep(time.Until(start.Add(time.Duration(float64(i) / perSecond * float64(time.Second)))))
		work <- i
	}
	close(work)
	group.Wait()
	return float64(n) / time.Since(start).Seconds()
}
