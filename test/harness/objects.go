package harness

import (
	"fmt"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HasEnded reports whether a pod has succeeded or failed.
func HasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// CreateNamespace creates a namespace and waits for its default service account: no pod is admitted before.
func (c *LocalCluster) CreateNamespace(t testing.TB, name string) string {
	t.Helper()
	_, err := c.Client.CoreV1().Namespaces().Create(background, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	Eventually(t, "service account of "+name, func() error {
		_, err := c.Client.CoreV1().ServiceAccounts(name).Get(background, "default", metav1.GetOptions{})
		return err
	})
	return name
}

// CreateClaim creates a claim of 1Gi.
func (c *LocalCluster) CreateClaim(t testing.TB, namespace, name, class string) *corev1.PersistentVolumeClaim {
	t.Helper()
	claim, err := c.Client.CoreV1().PersistentVolumeClaims(namespace).Create(background, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"owner": "dana"}},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class,
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return claim
}

// CreatePod creates a pod with one container that mounts the claims at /NAME. With seconds above 0 it runs that long
// and completes.
func (c *LocalCluster) CreatePod(t testing.TB, namespace, name string, seconds int, claims ...string) *corev1.Pod {
	t.Helper()
	return c.StartPod(t, namespace, NewPod(name, seconds, claims...))
}

// NewPod describes the pod of CreatePod. Its command and environment have secrets, which must not get into the
// catalog.
func NewPod(name string, seconds int, claims ...string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{Name: "main", Image: "app:1", Command: []string{"app", "--password=secret"},
				Env: []corev1.EnvVar{{Name: "PASSWORD", Value: "secret"}}}},
		},
	}
	if seconds > 0 {
		pod.Annotations = map[string]string{RunSeconds: strconv.Itoa(seconds)}
	}
	for _, claim := range claims {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: claim, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}})
		pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: claim, MountPath: "/" + claim})
	}
	return pod
}

// StartPod creates a pod.
func (c *LocalCluster) StartPod(t testing.TB, namespace string, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	pod, err := c.Client.CoreV1().Pods(namespace).Create(background, pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

// AwaitPod waits until a pod is in a phase, and returns it.
func (c *LocalCluster) AwaitPod(t testing.TB, namespace, name string, phase corev1.PodPhase) (pod *corev1.Pod) {
	t.Helper()
	Eventually(t, "pod "+name+" is "+string(phase), func() (err error) {
		if pod, err = c.Client.CoreV1().Pods(namespace).Get(background, name, metav1.GetOptions{}); err == nil && pod.Status.Phase != phase {
			err = fmt.Errorf("it is %s: %+v", pod.Status.Phase, pod.Status.Conditions)
		}
		return err
	})
	return pod
}

// CreateBoundClaim creates a claim and waits until it is bound to a volume.
func (c *LocalCluster) CreateBoundClaim(t testing.TB, namespace, name, class string) (*corev1.PersistentVolumeClaim, *corev1.PersistentVolume) {
	t.Helper()
	c.CreateClaim(t, namespace, name, class)
	return c.AwaitBound(t, namespace, name)
}

// AwaitBound waits until a claim is bound, and returns it with its volume.
func (c *LocalCluster) AwaitBound(t testing.TB, namespace, name string) (claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume) {
	t.Helper()
	Eventually(t, "claim "+name+" is bound", func() (err error) {
		if claim, err = c.Client.CoreV1().PersistentVolumeClaims(namespace).Get(background, name, metav1.GetOptions{}); err != nil {
			return err
		}
		if claim.Status.Phase != corev1.ClaimBound {
			return fmt.Errorf("it is %s", claim.Status.Phase)
		}
		volume, err = c.Client.CoreV1().PersistentVolumes().Get(background, claim.Spec.VolumeName, metav1.GetOptions{})
		return err
	})
	return claim, volume
}

// AwaitVolume waits until a volume is in a phase, and returns it.
func (c *LocalCluster) AwaitVolume(t testing.TB, name string, phase corev1.PersistentVolumePhase) (volume *corev1.PersistentVolume) {
	t.Helper()
	Eventually(t, "volume "+name+" is "+string(phase), func() (err error) {
		if volume, err = c.Client.CoreV1().PersistentVolumes().Get(background, name, metav1.GetOptions{}); err == nil && volume.Status.Phase != phase {
			err = fmt.Errorf("it is %s", volume.Status.Phase)
		}
		return err
	})
	return volume
}

// CreateClass creates a copy of a storage class for one test, which counts by class, and returns its name.
func (c *LocalCluster) CreateClass(t testing.TB, name, like string) string {
	t.Helper()
	classes := c.Client.StorageV1().StorageClasses()
	class, err := classes.Get(background, like, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	class.ObjectMeta = metav1.ObjectMeta{Name: name}
	if _, err := classes.Create(background, class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = classes.Delete(background, name, metav1.DeleteOptions{}) })
	return name
}
