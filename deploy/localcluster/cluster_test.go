package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// asLocalcluster makes the test binary behave as localcluster itself, so that the test
// needs no binary built beforehand. The components inherit it.
const asLocalcluster = "LOCALCLUSTER_TEST_BINARY"

func TestMain(m *testing.M) {
	if os.Getenv(asLocalcluster) != "" {
		main()
	}
	os.Exit(m.Run())
}

// command runs localcluster: the binary that LOCALCLUSTER_BIN names, or this one.
func command(args ...string) *exec.Cmd {
	binary := os.Getenv("LOCALCLUSTER_BIN")
	if binary == "" {
		binary, _ = os.Executable()
	}
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), asLocalcluster+"=1")
	return cmd
}

// startCluster brings a cluster up, and returns its supervisor and a client.
func startCluster(t *testing.T, dir string, args ...string) (*exec.Cmd, kubernetes.Interface) {
	t.Helper()
	began := time.Now()
	cmd := command(append([]string{"up", "--dir", dir, "--nodes", "2", "--exit-with-parent"}, args...)...)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "ready kubeconfig="+dir+"/kubeconfig server=https://127.0.0.1:") {
		t.Fatalf("up said %q, %v", line, err)
	}
	t.Logf("ready after %.1fs", time.Since(began).Seconds())
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1 // no limit
	return cmd, kubernetes.NewForConfigOrDie(config)
}

// TestBareCluster looks for what a bare cluster is to be without.
func TestBareCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	dir := t.TempDir()
	_, client := startCluster(t, dir, "--bare")
	nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) > 0 {
		t.Errorf("%d nodes, %v", len(nodes.Items), err)
	}
	if _, err := os.Stat(filepath.Join(dir, "audit.log")); !os.IsNotExist(err) {
		t.Errorf("there is an audit log, or %v", err)
	}
	running, err := filepath.Glob(filepath.Join(dir, "run", "*.pid"))
	if err != nil || len(running) != 2 {
		t.Errorf("there run %q, %v", running, err)
	}
}

// newVolume returns a volume that an administrator makes by hand.
func newVolume(name, size string, source corev1.PersistentVolumeSource) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)},
			StorageClassName:       "manual",
			PersistentVolumeSource: source,
		},
	}
}

// TestClusterLifecycle follows storage through a cluster's life: provisioned, mounted,
// grown, let go of, reclaimed or kept; the cluster itself through a stop, a resume, and
// the violent death of its supervisor.
func TestClusterLifecycle(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	dir := t.TempDir()
	supervisor, client := startCluster(t, dir)
	classes := []string{"standard", "standard-retain", "late", "late-retain", "nfs", "manual"}
	volumes := mountOneOfEach(ctx, t, client, classes)
	awaitAttached(ctx, t, client, 4)

	growAndRunJob(ctx, t, client)
	reclaim(ctx, t, client, classes, volumes)
	if !auditHasEndOf(t, dir, "user") {
		t.Error("audit.log does not tell when the pod's container ended")
	}

	// Nobody else gets the directory.
	if out, err := command("up", "--dir", dir).CombinedOutput(); err == nil || bytes.Count(out, []byte("\n")) != 1 {
		t.Errorf("a second up: %v, %s", err, out)
	}
	// The API server goes away and comes back.
	if out, err := command("restart", kubeAPIServer, "--dir", dir, "--down", "1s").CombinedOutput(); err != nil {
		t.Errorf("restart: %v, %s", err, out)
	}
	// An orderly stop, and a new start with the same contents, and a node more.
	_ = supervisor.Process.Signal(syscall.SIGTERM)
	if err := supervisor.Wait(); err != nil {
		t.Errorf("stopped with %v", err)
	}
	supervisor, client = startCluster(t, dir, "--kubelet")
	if _, err := client.CoreV1().PersistentVolumes().Get(ctx, "by-hand", metav1.GetOptions{}); err != nil {
		t.Errorf("after a resume: %v", err)
	}

	endsWithItsSupervisor(ctx, t, supervisor, dir)
}

// mountOneOfEach creates a claim of each class, and one for a volume that was there before, runs a pod that mounts all of
// them, and returns the volumes' names by their classes.
func mountOneOfEach(ctx context.Context, t *testing.T, client kubernetes.Interface, classes []string) map[string]string {
	t.Helper()
	core := client.CoreV1()
	hostPath := newVolume("by-hand", "5Gi", corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/srv"}})
	if _, err := core.PersistentVolumes().Create(ctx, hostPath, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, class := range classes {
		if _, err := core.PersistentVolumeClaims("default").Create(ctx, newClaim(class), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := core.Pods("default").Create(ctx, newPod("user", classes...), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := await(ctx, t, "the pod runs", func() (*corev1.Pod, bool, error) {
		pod, err := core.Pods("default").Get(ctx, "user", metav1.GetOptions{})
		return pod, err == nil && pod.Status.Phase == corev1.PodRunning, err
	})
	if s := pod.Status.InitContainerStatuses[0].State.Terminated; s == nil || s.FinishedAt.IsZero() || s.StartedAt.IsZero() {
		t.Errorf("the init container did not end: %+v", pod.Status.InitContainerStatuses)
	}
	if s := pod.Status.ContainerStatuses[0].State.Running; s == nil || s.StartedAt.IsZero() {
		t.Errorf("no startedAt: %+v", pod.Status.ContainerStatuses)
	}
	volumes := map[string]string{}
	for _, class := range classes {
		claim, err := core.PersistentVolumeClaims("default").Get(ctx, class, metav1.GetOptions{})
		if err != nil || claim.Status.Phase != corev1.ClaimBound {
			t.Errorf("claim %s is %s, %v", class, claim.Status.Phase, err)
		}
		volumes[class] = claim.Spec.VolumeName
	}
	return volumes
}

// awaitAttached waits until n CSI volumes are attached.
func awaitAttached(ctx context.Context, t *testing.T, client kubernetes.Interface, n int) {
	t.Helper()
	await(ctx, t, "the CSI volumes are attached", func() (int, bool, error) {
		list, err := client.StorageV1().VolumeAttachments().List(ctx, metav1.ListOptions{})
		if err != nil {
			return 0, false, err
		}
		attached := 0
		for _, a := range list.Items {
			if a.Status.Attached {
				attached++
			}
		}
		return attached, attached == n, nil
	})
}

// growAndRunJob has a claim grow, and a job complete.
func growAndRunJob(ctx context.Context, t *testing.T, client kubernetes.Interface) {
	t.Helper()
	core := client.CoreV1()
	// Growth.
	patch := []byte(`{"spec":{"resources":{"requests":{"storage":"3Gi"}}}}`)
	if _, err := core.PersistentVolumeClaims("default").Patch(ctx, "late", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	await(ctx, t, "the claim has grown", func() (string, bool, error) {
		claim, err := core.PersistentVolumeClaims("default").Get(ctx, "late", metav1.GetOptions{})
		size := claim.Status.Capacity[corev1.ResourceStorage]
		return size.String(), size.String() == "3Gi", err
	})

	// A job that ends by itself.
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job"}}
	job.Spec.Template.Spec = newPod("", "standard").Spec
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	if _, err := client.BatchV1().Jobs("default").Create(ctx, job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(ctx, t, "the job is complete", func() (int32, bool, error) {
		job, err := client.BatchV1().Jobs("default").Get(ctx, "job", metav1.GetOptions{})
		return job.Status.Succeeded, job.Status.Succeeded == 1 && job.Status.CompletionTime != nil, err
	})
}

// reclaim deletes the pods and the claims, and waits until their volumes are deleted or released.
func reclaim(ctx context.Context, t *testing.T, client kubernetes.Interface, classes []string, volumes map[string]string) {
	t.Helper()
	core := client.CoreV1()
	// The end of the pods, then of the claims: a pod that is there, though completed,
	// would still hold its claim.
	background := metav1.DeletePropagationBackground
	if err := client.BatchV1().Jobs("default").Delete(ctx, "job", metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
		t.Fatal(err)
	}
	if err := core.Pods("default").Delete(ctx, "user", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(ctx, t, "the claim is unused", func() (any, bool, error) {
		claim, err := core.PersistentVolumeClaims("default").Get(ctx, "late", metav1.GetOptions{})
		for _, c := range claim.Status.Conditions {
			if c.Type == "Unused" && c.Status == corev1.ConditionTrue {
				return c, true, err
			}
		}
		return claim.Status.Conditions, false, err
	})
	for _, class := range classes {
		if err := core.PersistentVolumeClaims("default").Delete(ctx, class, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	await(ctx, t, "volumes are reclaimed or released", func() (map[string]corev1.PersistentVolumePhase, bool, error) {
		list, err := core.PersistentVolumes().List(ctx, metav1.ListOptions{})
		phases := map[string]corev1.PersistentVolumePhase{}
		for _, v := range list.Items {
			phases[v.Name] = v.Status.Phase
		}
		done := len(phases) == 3
		for _, class := range []string{"standard-retain", "late-retain", "manual"} {
			done = done && phases[volumes[class]] == corev1.VolumeReleased
		}
		return phases, done, err
	})
}

// endsWithItsSupervisor kills the supervisor, and waits until its components have ended.
func endsWithItsSupervisor(ctx context.Context, t *testing.T, supervisor *exec.Cmd, dir string) {
	t.Helper()
	var pids []int
	for _, name := range componentNames {
		pid, err := readPID(layout{dir: dir}, name)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	_ = supervisor.Process.Kill()
	_ = supervisor.Wait()
	for _, pid := range pids {
		await(ctx, t, fmt.Sprintf("process %d ends with its supervisor", pid), func() (int, bool, error) {
			return pid, !running(pid), nil
		})
	}
}

// await repeats test until it is satisfied, and returns what it last saw.
func await[T any](ctx context.Context, t *testing.T, what string, test func() (T, bool, error)) T {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		seen, ok, err := test()
		if ok {
			return seen
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			t.Fatalf("waited in vain until %s; last seen: %v, %v", what, seen, err)
		}
	}
}

// newClaim returns a claim of class, named like it.
func newClaim(class string) *corev1.PersistentVolumeClaim {
	mode := corev1.ReadWriteOnce
	if class == "nfs" {
		mode = corev1.ReadWriteMany
	}
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: class},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{mode},
			StorageClassName: &class,
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			},
		},
	}
}

// newPod returns a pod with an init container that mounts the claims.
func newPod(name string, claims ...string) *corev1.Pod {
	main := corev1.Container{Name: "main", Image: "main"}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, claim := range claims {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{
			Name:         claim,
			VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}},
		})
		main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: claim, MountPath: "/" + claim})
	}
	pod.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "init"}}
	pod.Spec.Containers = []corev1.Container{main}
	return pod
}

// auditHasEndOf looks in the audit log for the status in which a pod's containers have
// ended, which a watcher has only a moment to see.
func auditHasEndOf(t *testing.T, dir, pod string) bool {
	t.Helper()
	for line := range auditLines(t, dir) {
		var event struct {
			User           struct{ Username string }
			ObjectRef      struct{ Resource, Name string }
			ResponseObject corev1.Pod
		}
		if !bytes.Contains(line, []byte(`"subresource":"status"`)) || !bytes.Contains(line, []byte(`"resource":"pods"`)) {
			continue
		}
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatal(err)
		}
		statuses := event.ResponseObject.Status.ContainerStatuses
		if event.ObjectRef.Name == pod && event.User.Username == kwokUser && len(statuses) > 0 {
			if end := statuses[0].State.Terminated; end != nil && !end.FinishedAt.IsZero() {
				return true
			}
		}
	}
	return false
}

// auditLines returns the events of the audit log.
func auditLines(t *testing.T, dir string) iter.Seq[[]byte] {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "audit.log"))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Lines(data)
}

// running is false for a process that is gone, and for one that has ended though nobody
// has collected its exit code.
func running(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return syscall.Kill(pid, 0) == nil
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}
