package skim

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand"
	"os"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/redact"
)

// protobufOf returns the codec of the API for protobuf, out of codecs.
func protobufOf(t testing.TB, codecs runtime.NegotiatedSerializer) runtime.SerializerInfo {
	t.Helper()
	info, ok := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	if !ok {
		t.Fatal("no protobuf")
	}
	return info
}

// randomPods returns pods with values in all fields, as Kubernetes' own fuzzer makes them, encoded and as they are.
func randomPods(t testing.TB, n int) (pods []*corev1.Pod, encoded [][]byte) {
	t.Helper()
	full := protobufOf(t, scheme.Codecs)
	fill := fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(1), scheme.Codecs).NumElements(1, 3)
	for i := range n {
		pod := &corev1.Pod{}
		fill.NilChance(float64(i%3) / 3).Fill(pod)
		pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
		keepMounted(pod)
		for j := range pod.Status.Conditions {
			kinds := []corev1.PodConditionType{corev1.PodScheduled, corev1.PodReady, corev1.DisruptionTarget, corev1.ContainersReady}
			pod.Status.Conditions[j].Type = kinds[(i+j)%len(kinds)]
		}
		pods, encoded = append(pods, pod), append(encoded, encode(t, full.Serializer, pod))
	}
	return pods, encoded
}

// keepMounted makes the containers mount volumes that exist, and gives half of the volumes one source alone: else redact
// drops all of them.
func keepMounted(pod *corev1.Pod) {
	for i := range pod.Spec.Volumes {
		s := reflect.ValueOf(&pod.Spec.Volumes[i].VolumeSource).Elem()
		only := (len(pod.Name) + i) % s.NumField()
		for field := range s.NumField() {
			if i%2 == 0 && field != only || i%2 == 1 && pod.Spec.Volumes[0].Name < "m" {
				s.Field(field).SetZero()
			}
		}
	}
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			for j := range list[i].VolumeMounts {
				if len(pod.Spec.Volumes) > 0 {
					list[i].VolumeMounts[j].Name = pod.Spec.Volumes[j%len(pod.Spec.Volumes)].Name
				}
			}
		}
	}
}

func encode(t testing.TB, encoder runtime.Encoder, object runtime.Object) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encoder.Encode(object, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// sameKept fails if redact keeps anything else of a skimmed pod than of one that is decoded in full.
func sameKept(t testing.TB, full runtime.Decoder, data []byte) {
	t.Helper()
	object, _, err := full.Decode(data, nil, nil)
	skimmed := skimmed(data)
	want, ok := object.(*corev1.Pod)
	if err != nil || !ok || skimmed == nil {
		return
	}
	want.TypeMeta = metav1.TypeMeta{}
	redact.Policy{}.Object(fact.Pods, want)
	redact.Policy{}.Object(fact.Pods, skimmed)
	if !equality.Semantic.DeepEqual(want, skimmed) { // an empty list is as good as none
		t.Fatalf("redact keeps of a pod that is decoded in full (-) and of a skimmed one (+):\n%s", diff.Diff(want, skimmed))
	}
}

func TestSkimKeepsWhatRedactKeeps(t *testing.T) {
	full := protobufOf(t, scheme.Codecs).Serializer
	_, encoded := randomPods(t, 500)
	for _, data := range encoded {
		if skimmed(data) == nil {
			t.Fatal("a pod is not skimmed")
		}
		sameKept(t, full, data)
	}
}

// The pods that a watch of a real cluster sent (see TestMonthIsRecordedAsInTheAuditLog of test/e2e).
func TestSkimKeepsWhatRedactKeepsOfRecordedPods(t *testing.T) {
	file, err := os.Open("../inventory/testdata/month.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	full := protobufOf(t, scheme.Codecs).Serializer
	pods := 0
	for lines := json.NewDecoder(file); ; {
		var line struct {
			Kind   fact.Kind
			Object json.RawMessage
		}
		if err := lines.Decode(&line); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if line.Kind != fact.Pods {
			continue
		}
		pod := &corev1.Pod{}
		if err := json.Unmarshal(line.Object, pod); err != nil {
			t.Fatal(err)
		}
		pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
		data := encode(t, full, pod)
		if skimmed(data) == nil {
			t.Fatalf("%s is not skimmed", pod.Name)
		}
		sameKept(t, full, data)
		pods++
	}
	if pods < 20 {
		t.Errorf("%d pods are recorded", pods)
	}
}

func FuzzSkim(f *testing.F) {
	full := protobufOf(f, scheme.Codecs).Serializer
	_, encoded := randomPods(f, 20)
	for _, data := range encoded {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { sameKept(t, full, data) })
}

func TestSkimDropsMostOfAPod(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "db-0", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet", FieldsV1: metav1.NewFieldsV1("secret")}}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "db", Env: []corev1.EnvVar{{Name: "PASSWORD", Value: "secret"}}, Args: []string{"secret"}}}},
		Status:     corev1.PodStatus{Message: "secret", PodIP: "secret"},
	}
	pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	got := skimmed(encode(t, protobufOf(t, scheme.Codecs).Serializer, pod))
	if got == nil || bytes.Contains([]byte(got.String()), []byte("secret")) {
		t.Errorf("a skimmed pod is %s", got)
	}
	if got.Name != "db-0" || got.ManagedFields[0].Manager != "kubelet" || got.Spec.Containers[0].Name != "db" {
		t.Errorf("a skimmed pod has lost what is kept: %s", got)
	}
}

// Other objects, damaged pods and a decoding into an object go to the API's own decoder.
func TestSkimLeavesTheRestToTheFullDecoder(t *testing.T) {
	codecs := protobufOf(t, Pods(scheme.Codecs.WithoutConversion()))
	full := protobufOf(t, scheme.Codecs).Serializer
	list := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{GenerateName: "db-"}}}}
	object, kind, err := codecs.Serializer.Decode(encode(t, full, list), nil, nil)
	if err != nil || kind.Kind != "PodList" || object.(*corev1.PodList).Items[0].GenerateName != "db-" {
		t.Errorf("a list is decoded as %v, %v", object, err)
	}
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{GenerateName: "db-"}}
	data := encode(t, full, pod)
	into := &corev1.Pod{}
	if _, _, err := codecs.Serializer.Decode(data, nil, into); err != nil || into.GenerateName != "db-" {
		t.Errorf("a pod is decoded into an object as %v, %v", into, err)
	}
	if object, _, err := codecs.Serializer.Decode(data[:len(data)-3], nil, nil); err == nil {
		t.Errorf("a damaged pod is decoded as %v", object)
	}
	status := &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Message: "too old", Code: 410}
	if object, _, err := codecs.Serializer.Decode(encode(t, full, status), nil, nil); err != nil || object.(*metav1.Status).Code != 410 {
		t.Errorf("a status is decoded as %v, %v", object, err)
	}
}

func TestEventsAreReadAsTheFullDecoderReadsThem(t *testing.T) {
	full := protobufOf(t, scheme.Codecs).StreamSerializer.Serializer
	ours := protobufOf(t, Pods(scheme.Codecs)).StreamSerializer.Serializer
	_, encoded := randomPods(t, 1)
	for _, kind := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Bookmark, watch.Error, "OTHER"} {
		frame := encode(t, full, &metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: encoded[0]}})
		var want, got metav1.WatchEvent
		if _, _, err := full.Decode(frame, nil, &want); err != nil {
			t.Fatal(err)
		}
		if object, _, err := ours.Decode(frame, nil, &got); err != nil || object != &got || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: read as %v, %v", kind, got, err)
		}
		if _, _, err := ours.Decode(frame[:len(frame)-1], nil, &got); err == nil {
			t.Errorf("%s: a damaged event is read as %v", kind, got)
		}
	}
}

// BenchmarkPod decodes an event of a watch and redacts its pod, which has managedFields and environments as usual pods have.
func BenchmarkPod(b *testing.B) {
	pod := usualPod()
	plain := scheme.Codecs.WithoutConversion()
	object := encode(b, protobufOf(b, plain).Serializer, pod)
	for _, run := range []struct {
		name   string
		codecs runtime.NegotiatedSerializer
	}{{"full", plain}, {"skimmed", Pods(plain)}} {
		info := protobufOf(b, run.codecs)
		frame := encode(b, info.StreamSerializer.Serializer, &metav1.WatchEvent{Type: string(watch.Modified), Object: runtime.RawExtension{Raw: object}})
		b.Run(run.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(frame)))
			for b.Loop() {
				var event metav1.WatchEvent
				_, _, err := info.StreamSerializer.Serializer.Decode(frame, nil, &event)
				object, _, errObject := info.Serializer.Decode(event.Object.Raw, nil, nil)
				if err != nil || errObject != nil {
					b.Fatal(err, errObject)
				}
				redact.Policy{}.Object(fact.Pods, object)
			}
		})
	}
}

func usualPod() *corev1.Pod {
	container := corev1.Container{
		Name: "db", Image: "registry.example/db:1", Command: []string{"/usr/bin/db"}, Args: []string{"--config=/etc/db.yaml", "--verbose"},
		VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/var/lib/db"}, {Name: "token", MountPath: "/var/run/secrets"}},
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("256Mi"),
		}},
		ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready"}}},
	}
	for range 8 {
		container.Env = append(container.Env, corev1.EnvVar{Name: "SETTING", Value: "a value of some length"})
	}
	pod := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db-0", UID: "u", ResourceVersion: "1", Labels: map[string]string{"app": "db", "instance": "db-0"}},
		Spec: corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{container, container}, Volumes: []corev1.Volume{
			{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}},
			{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}}},
			}}},
		}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	for _, manager := range []string{"kube-controller-manager", "kubelet"} {
		entry := metav1.ManagedFieldsEntry{Manager: manager, Operation: "Update", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(strings.Repeat("f", 1500))}
		pod.ManagedFields = append(pod.ManagedFields, entry)
	}
	for _, kind := range []corev1.PodConditionType{corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Unix(1_700_000_000, 0)})
	}
	for _, name := range []string{"db", "backup"} {
		running := &corev1.ContainerStateRunning{StartedAt: metav1.Unix(1_700_000_000, 0)}
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: name, State: corev1.ContainerState{Running: running}, ImageID: "registry.example/db@sha256:0f1e2d3c", ContainerID: "containerd://0f1e2d3c",
		})
	}
	return pod
}
