package collector

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	kitlog "github.com/go-kit/log"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

// usages records the usages of an update.
type usages struct{ list []fact.Usage }

func (u *usages) Record(update *fact.Update) { u.list = append(u.list, update.Facts.Usage...) }

// TestForgedUsage has the kubelet of n1 report its own volume, one of n2, that one again in the name of its own pod,
// one in the future, and one of a driver that cannot count. Only the first counts; the others are counted, and said once.
func TestForgedUsage(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	report := func(pod, claim string, used uint64, at time.Time) string {
		return fmt.Sprintf(`{"podRef":{"name":%q,"namespace":"shop","uid":"uid-%s"},"volume":[{"time":%q,"usedBytes":%d,"capacityBytes":1000,"name":"data","pvcRef":{"name":%q,"namespace":"shop"}}]}`,
			pod, pod, at.Format(time.RFC3339), used, claim)
	}
	server := serveKubelet(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"pods":[`+strings.Join([]string{
			report("theirs", "claim-theirs", 666, now), report("own", "claim-theirs", 666, now), report("ended", "claim-own", 666, now),
			report("own", "claim-own", 666, now.Add(time.Hour)), report("own", "claim-own", 1<<63, now), report("own", "claim-own", 5, now),
		}, ",")+`]}`)
	})
	k := asked(server)
	k.interval = time.Millisecond
	var logged bytes.Buffer
	recorder := &usages{}
	c := New(Options{Kubelets: k, Logger: kitlog.NewLogfmtLogger(&logged), Registerer: prometheus.NewRegistry(), Recorder: recorder, Features: allFeatures, Now: func() time.Time { return now }})
	created := metav1.NewTime(now.Add(-time.Hour))
	for _, pod := range []string{"own", "theirs"} {
		claim := &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "claim-" + pod, UID: types.UID("claim-" + pod), CreationTimestamp: created},
			Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: "vol-" + pod}, Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
		}
		volume := &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: "vol-" + pod, UID: types.UID("vol-" + pod), CreationTimestamp: created},
			Spec:       corev1.PersistentVolumeSpec{ClaimRef: &corev1.ObjectReference{Namespace: "shop", Name: claim.Name, UID: claim.UID}}, Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound},
		}
		user := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: pod, UID: types.UID("uid-" + pod), CreationTimestamp: created},
			Spec: corev1.PodSpec{NodeName: map[string]string{"own": "n1", "theirs": "n2"}[pod], Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name},
			}}}, Containers: []corev1.Container{{Name: "main", VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}}}},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: created}}}}},
		}
		for _, o := range []any{claim, volume, user} {
			if err := c.inv.Set(o, inventory.Live(fact.At(now))); err != nil {
				t.Fatal(err)
			}
		}
	}
	nodes := c.nodesInUse()
	if len(nodes) != 2 {
		t.Fatalf("nodes in use: %v", nodes)
	}
	k.addresses["n2"] = "127.0.0.1:1" // nobody is there
	k.nodes = fake.NewClientset().CoreV1().Nodes()
	close(c.synced)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); c.readKubelets(ctx) }()
	for deadline := time.Now().Add(time.Minute); testutil.ToFloat64(c.metrics.kubeletReads) < 6; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the kubelets are not read three times")
		}
	}
	cancel()
	<-ended

	if len(recorder.list) != 1 || recorder.list[0].VolumeUID != "vol-own" || recorder.list[0].UsedBytes != 5 {
		t.Errorf("recorded %+v", recorder.list)
	}
	for reason, counter := range c.metrics.kubeletRefused {
		if testutil.ToFloat64(counter) < 3 {
			t.Errorf("refused for its %s: %v, want 3 or more", reason, testutil.ToFloat64(counter))
		}
	}
	for _, text := range refusalTexts {
		if strings.Count(logged.String(), text) != 1 {
			t.Errorf("%q is not said once:\n%s", text, logged.String())
		}
	}
	if strings.Count(logged.String(), "name=n1 ") != len(refusalTexts) {
		t.Errorf("logged\n%s", logged.String())
	}
}
