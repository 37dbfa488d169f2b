package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// TestKubelet asks the real kubelet about a volume that it mounted, as one who may and
// as others, and looks that kwok keeps away from it.
func TestKubelet(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dir := t.TempDir()
	_, client := startCluster(t, dir, "--kubelet")
	core := client.CoreV1()

	node, err := core.Nodes().Get(ctx, kubeletNode, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !isReady(node) || len(node.Spec.Taints) != 1 || node.Spec.Taints[0].Key != kubeletTaint {
		t.Errorf("ready: %t, taints %v", isReady(node), node.Spec.Taints)
	}
	stats := newStatsClient(t, dir, node)

	path := runOnDisk(ctx, t, client)

	// Who may, who may not, and who is not known.
	reader, stranger := newToken(ctx, t, client, "reader"), newToken(ctx, t, client, "stranger")
	grantStatistics(ctx, t, client, "reader")
	for token, want := range map[string]int{stranger: http.StatusForbidden, "": http.StatusUnauthorized, "nonsense": http.StatusUnauthorized} {
		if status, _, err := stats.get(ctx, token); status != want {
			t.Errorf("token %.10q: %d, %v; want %d", token, status, err, want)
		}
	}

	inStats := func() (*statsapi.VolumeStats, bool, error) { return stats.ofClaim(ctx, reader, "user", "data") }
	checkAgainstFilesystem(t, await(ctx, t, "the claim is in the statistics", inStats), path)

	// A new process finds its pod and its volume again.
	if out, err := command("restart", kubelet, "--dir", dir).CombinedOutput(); err != nil {
		t.Errorf("restart: %v, %s", err, out)
	}
	await(ctx, t, "the claim is in the statistics again", inStats)

	lease, err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(ctx, kubeletNode, metav1.GetOptions{})
	if err != nil || *lease.Spec.HolderIdentity != kubeletNode {
		t.Errorf("the node's lease is held by %v, %v", lease.Spec.HolderIdentity, err)
	}
	if err := core.Pods("default").Delete(ctx, "user", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(ctx, t, "the pod is gone", func() (any, bool, error) {
		pod, err := core.Pods("default").Get(ctx, "user", metav1.GetOptions{})
		return pod, apierrors.IsNotFound(err), err
	})
	if _, err := os.Stat(path); err != nil {
		t.Errorf("with the pod went its volume: %v", err)
	}
	checkKwokKeepsAway(t, dir)
}

// checkKwokKeepsAway checks in the audit log that kwok touched neither the kubelet's node nor its pod.
func checkKwokKeepsAway(t *testing.T, dir string) {
	t.Helper()
	for line := range auditLines(t, dir) {
		if bytes.Contains(line, []byte(`"username":"`+kwokUser)) && (bytes.Contains(line, []byte(kubeletNode)) || bytes.Contains(line, []byte(`"name":"user"`))) {
			t.Errorf("kwok interferes: %s", line)
		}
	}
}

// checkAgainstFilesystem compares what the kubelet says of a volume with its filesystem.
func checkAgainstFilesystem(t *testing.T, seen *statsapi.VolumeStats, path string) {
	t.Helper()
	var fs syscall.Statfs_t
	if err := syscall.Statfs(path, &fs); err != nil {
		t.Fatal(err)
	}
	block := uint64(fs.Bsize)
	const others = 16 << 20 // what others may have written in the meantime
	if *seen.CapacityBytes != fs.Blocks*block || *seen.Inodes != fs.Files ||
		!near(*seen.UsedBytes, (fs.Blocks-fs.Bfree)*block, others) || !near(*seen.AvailableBytes, fs.Bavail*block, others) {
		got, _ := json.Marshal(seen)
		t.Errorf("the kubelet says %s, the filesystem %+v", got, fs)
	}
}

// runOnDisk runs the pod "user" on a local volume of the kubelet's node, and returns the volume's directory.
func runOnDisk(ctx context.Context, t *testing.T, client kubernetes.Interface) string {
	t.Helper()
	core := client.CoreV1()
	// A filesystem that is not the cluster's own, where there is one.
	path, err := os.MkdirTemp("/dev/shm", "localcluster")
	if err != nil {
		path = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(path) })
	if _, err := core.PersistentVolumes().Create(ctx, newLocalVolume("disk", path), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	claim := newClaim("manual")
	claim.Name, claim.Spec.VolumeName = "data", "disk"
	if _, err := core.PersistentVolumeClaims("default").Create(ctx, claim, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// The scheduler sends it here: the volume is nowhere else, and it tolerates the taint.
	pod := newPod("user", "data")
	pod.Spec.InitContainers = nil
	pod.Spec.Tolerations = []corev1.Toleration{{Key: kubeletTaint, Operator: corev1.TolerationOpExists}}
	if _, err := core.Pods("default").Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod = await(ctx, t, "the pod runs", func() (*corev1.Pod, bool, error) {
		pod, err := core.Pods("default").Get(ctx, "user", metav1.GetOptions{})
		return pod, err == nil && pod.Status.Phase == corev1.PodRunning, err
	})
	if s := pod.Status.ContainerStatuses[0].State.Running; pod.Spec.NodeName != kubeletNode || s == nil || s.StartedAt.IsZero() {
		t.Errorf("on %q: %+v", pod.Spec.NodeName, pod.Status.ContainerStatuses)
	}
	return path
}

// grantStatistics lets a service account read the statistics of kubelets.
func grantStatistics(ctx context.Context, t *testing.T, client kubernetes.Interface, account string) {
	t.Helper()
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "stats"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes/stats"}, Verbs: []string{"get"}}},
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "stats"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "stats"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: account}},
	}
	if _, err := client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func near(a, b, distance uint64) bool { return max(a, b)-min(a, b) <= distance }

// newLocalVolume returns a volume that is a directory of the kubelet's node.
func newLocalVolume(name, path string) *corev1.PersistentVolume {
	volume := newVolume(name, "1Gi", corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: path}})
	volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{kubeletNode}}},
	}}}}
	return volume
}

// newToken returns a token of a new service account.
func newToken(ctx context.Context, t *testing.T, client kubernetes.Interface, account string) string {
	t.Helper()
	accounts := client.CoreV1().ServiceAccounts("default")
	if _, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	token, err := accounts.CreateToken(ctx, account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return token.Status.Token
}

// statsClient asks the kubelet of a node for its statistics.
type statsClient struct {
	url string
	tls rest.TLSClientConfig
}

// newStatsClient finds the kubelet where its node says that it is, and trusts whom the
// cluster's kubeconfig trusts.
func newStatsClient(t *testing.T, dir string, node *corev1.Node) statsClient {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(int(node.Status.DaemonEndpoints.KubeletEndpoint.Port))
	for _, address := range node.Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			return statsClient{
				url: "https://" + net.JoinHostPort(address.Address, port) + "/stats/summary",
				tls: rest.TLSClientConfig{CAData: config.CAData},
			}
		}
	}
	t.Fatalf("no address: %v", node.Status.Addresses)
	return statsClient{}
}

// ofClaim returns what the statistics say of the volume of a pod's claim, and whether they say anything.
func (c statsClient) ofClaim(ctx context.Context, token, pod, claim string) (*statsapi.VolumeStats, bool, error) {
	status, summary, err := c.get(ctx, token)
	if err != nil {
		return nil, false, err
	} else if status != http.StatusOK {
		return nil, false, fmt.Errorf("status %d", status)
	}
	for _, p := range summary.Pods {
		for _, v := range p.VolumeStats {
			if p.PodRef.Name == pod && v.PVCRef != nil && *v.PVCRef == (statsapi.PVCReference{Name: claim, Namespace: "default"}) {
				return &v, true, nil
			}
		}
	}
	return nil, false, nil
}

func (c statsClient) get(ctx context.Context, token string) (status int, summary statsapi.Summary, err error) {
	client, err := rest.HTTPClientFor(&rest.Config{BearerToken: token, TLSClientConfig: c.tls})
	if err != nil {
		return 0, summary, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url, nil)
	if err != nil {
		return 0, summary, err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, summary, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return response.StatusCode, summary, nil
	}
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return response.StatusCode, summary, err
	}
	return response.StatusCode, summary, json.Unmarshal(data, &summary)
}
