package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// canaries are texts that occur nowhere else, each with the path of the field that it was put into.
type canaries struct{ paths []string }

func (c *canaries) next(path string) string {
	c.paths = append(c.paths, path)
	return fmt.Sprintf("canary%05dx", len(c.paths)-1)
}

// fill puts a canary into every text of a value: into fields, lists, pointers, and the keys and
// values of maps. What has to be parsed gets a valid value.
func (c *canaries) fill(v reflect.Value, path string) {
	if c.fillParsed(v, path) {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(c.next(path))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64, reflect.Int:
		v.SetInt(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		c.fill(v.Elem(), path)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(c.next(path)))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		c.fill(v.Index(0), path+"[]")
	case reflect.Map:
		c.fillMap(v, path)
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case f.Type == reflect.TypeFor[metav1.TypeMeta]():
			case name == "":
				c.fill(v.Field(i), path) // in line
			default:
				c.fill(v.Field(i), path+"."+name)
			}
		}
	default:
		panic("no canary for a " + v.Type().String() + " at " + path)
	}
}

// fillParsed fills a value that is parsed, and reports whether it is one.
func (c *canaries) fillParsed(v reflect.Value, path string) bool {
	switch p := v.Addr().Interface().(type) {
	case *resource.Quantity:
		*p = resource.MustParse("1Gi")
	case *metav1.Time:
		*p = metav1.NewTime(time.Now().Add(-time.Hour))
	case *intstr.IntOrString:
		*p = intstr.FromString(c.next(path))
	case *metav1.FieldsV1:
		p.SetRawString(`{"f:` + c.next(path) + `":{}}`)
	default:
		return false
	}
	return true
}

// mapKeys are the keys that a map has besides a canary: those that the tracker treats in its own way.
var mapKeys = map[string][]string{
	".annotations": {
		"kubevoltracker.io/owner", "kubevoltracker.io/keep", "kubevoltracker.io/note", "owner", "team", "pv.kubernetes.io/provisioned-by", "volume.kubernetes.io/selected-node",
		"volume.beta.kubernetes.io/storage-class", "volume.beta.kubernetes.io/mount-options", "volume.kubernetes.io/storage-provisioner",
		"volume.kubernetes.io/provisioner-deletion-secret-name", "example.com/kept", "example.com/dropped", corev1.LastAppliedConfigAnnotation,
	},
	".labels":             {"app", "api-token"},
	".matchLabels":        {"app", "api-token"},
	".parameters":         {"type", "adminPassword", "csi.storage.k8s.io/node-stage-secret-name", "csi.storage.k8s.io/node-stage-secret-namespace"},
	".volumeAttributes":   {"server", "user-key", "secretName"},
	".options":            {"share", "credential"},
	".attachmentMetadata": {"devicePath", "token"},
}

func (c *canaries) fillMap(v reflect.Value, path string) {
	v.Set(reflect.MakeMap(v.Type()))
	put := func(key, path string) {
		value := reflect.New(v.Type().Elem()).Elem()
		c.fill(value, path)
		v.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), value)
	}
	put(c.next(path+"{key}"), path+"{}")
	if v.Type().Key() == reflect.TypeFor[corev1.ResourceName]() {
		put("storage", path+"{storage}")
	}
	for _, key := range mapKeys[path[strings.LastIndexByte(path, '.'):]] {
		put(key, path+"{"+key+"}")
	}
}

// filled fills an object; change completes it, so that the tracker takes it for a living one.
func filled[T any](c *canaries, kind fact.Kind, change func(*T)) *T {
	o := new(T)
	c.fill(reflect.ValueOf(o).Elem(), string(kind))
	meta := any(o).(metav1.ObjectMetaAccessor).GetObjectMeta()
	meta.SetResourceVersion("10")
	if change != nil {
		change(o)
	}
	return o
}

// each calls do with a new union for each of its members, which is filled.
func each[T any](c *canaries, path string, do func(union T)) {
	for i := range reflect.TypeFor[T]().NumField() {
		var union T
		v := reflect.ValueOf(&union).Elem()
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		c.fill(v.Field(i), path+"."+name)
		do(union)
	}
}

// metadataPaths are the lists of the kinds that are watched as metadata alone.
var metadataPaths = map[string]fact.Kind{
	"/apis/apps/v1/daemonsets": fact.DaemonSets, "/apis/apps/v1/deployments": fact.Deployments, "/apis/apps/v1/replicasets": fact.ReplicaSets,
	"/apis/batch/v1/cronjobs": fact.CronJobs, "/apis/batch/v1/jobs": fact.Jobs,
}

// objects are objects of all kinds with canaries in all their texts, by the path of their lists.
func (c *canaries) objects() map[string][]any {
	lists := map[string][]any{}
	add := func(path string, o any) { lists[path] = append(lists[path], o) }
	add("/api/v1/namespaces", filled[corev1.Namespace](c, fact.Namespaces, nil))
	add("/api/v1/nodes", filled(c, fact.Nodes, func(o *corev1.Node) {
		ready := o.Status.Conditions[0]
		ready.Type, ready.Reason = corev1.NodeReady, c.next("Node.status.conditions[Ready].reason")
		o.Status.Conditions = append(o.Status.Conditions, ready)
	}))
	add("/apis/storage.k8s.io/v1/csidrivers", filled[storagev1.CSIDriver](c, fact.Drivers, nil))
	add("/apis/storage.k8s.io/v1/storageclasses", filled[storagev1.StorageClass](c, fact.StorageClasses, nil))
	add("/apis/storage.k8s.io/v1/csistoragecapacities", filled[storagev1.CSIStorageCapacity](c, fact.StorageCapacities, nil))
	add("/apis/storage.k8s.io/v1/volumeattachments", filled[storagev1.VolumeAttachment](c, fact.VolumeAttachments, nil))
	add("/apis/apps/v1/statefulsets", filled[appsv1.StatefulSet](c, fact.StatefulSets, nil))
	for path, kind := range metadataPaths {
		add(path, filled(c, kind, func(o *metav1.PartialObjectMetadata) {
			o.TypeMeta = metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"}
		}))
	}
	claim := filled(c, fact.Claims, func(o *corev1.PersistentVolumeClaim) { o.Status.Conditions[0].Status = corev1.ConditionTrue })
	add("/api/v1/persistentvolumeclaims", claim)
	add("/api/v1/persistentvolumes", filled(c, fact.Volumes, func(o *corev1.PersistentVolume) {
		o.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{}
		o.Spec.ClaimRef.UID, o.Spec.ClaimRef.Namespace, o.Spec.ClaimRef.Name = claim.UID, claim.Namespace, claim.Name
		o.Status.Phase = corev1.VolumeBound
	}))
	each(c, "PersistentVolume.spec", func(union corev1.PersistentVolumeSource) {
		name := fmt.Sprintf("pv-%d", len(c.paths))
		add("/api/v1/persistentvolumes", &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: "10"}, Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: union},
		})
	})
	add("/api/v1/pods", filled(c, fact.Pods, func(o *corev1.Pod) { c.completePod(o, claim) }))
	return lists
}

// completePod gives a pod's containers volumes of all kinds, and the statuses of containers that run.
func (c *canaries) completePod(o *corev1.Pod, claim *corev1.PersistentVolumeClaim) {
	o.Namespace = claim.Namespace
	o.Spec.Volumes = nil
	var mounts []corev1.VolumeMount
	mount := o.Spec.Containers[0].VolumeMounts[0]
	each(c, "Pod.spec.volumes[]", func(union corev1.VolumeSource) {
		v := corev1.Volume{Name: c.next("Pod.spec.volumes[].name"), VolumeSource: union}
		if v.PersistentVolumeClaim != nil {
			v.PersistentVolumeClaim.ClaimName = claim.Name
		}
		if union.Secret != nil || union.ConfigMap != nil || union.Projected != nil || union.DownwardAPI != nil {
			v.Name = c.next("Pod.spec.volumes[configuration].name")
		}
		o.Spec.Volumes = append(o.Spec.Volumes, v)
		mount.Name, mount.MountPath = v.Name, mount.MountPath+"/"
		mounts = append(mounts, mount)
	})
	for _, list := range []*[]corev1.Container{&o.Spec.InitContainers, &o.Spec.Containers} {
		(*list)[0].VolumeMounts = append((*list)[0].VolumeMounts, mounts...)
		(*list)[0].VolumeDevices[0].Name = mounts[0].Name
		(*list)[0].Command = append((*list)[0].Command, c.next("Pod.spec.containers[].command[1:]"))
	}
	o.Spec.Containers[0].VolumeMounts[0].Name = mounts[1].Name
	o.Spec.InitContainers[0].VolumeMounts[0].Name = mounts[1].Name
	o.Spec.EphemeralContainers[0].VolumeMounts[0].Name = mounts[1].Name
	o.Spec.EphemeralContainers[0].VolumeDevices[0].Name = mounts[0].Name
	for _, list := range [][]corev1.ContainerStatus{o.Status.InitContainerStatuses, o.Status.ContainerStatuses, o.Status.EphemeralContainerStatuses} {
		of := list[0].VolumeMounts[0]
		list[0].VolumeMounts = append(list[0].VolumeMounts, of) // the first one is of a volume that the pod lacks
		list[0].VolumeMounts[1].Name = mounts[0].Name
	}
	o.Status.InitContainerStatuses[0].Name = o.Spec.InitContainers[0].Name
	o.Status.ContainerStatuses[0].Name = o.Spec.Containers[0].Name
	o.Status.EphemeralContainerStatuses[0].Name = o.Spec.EphemeralContainers[0].Name
	for _, kind := range []corev1.PodConditionType{corev1.PodScheduled, corev1.DisruptionTarget, corev1.PodReady} {
		condition := o.Status.Conditions[0]
		condition.Type, condition.Status = kind, corev1.ConditionTrue
		condition.Reason = c.next("Pod.status.conditions[" + string(kind) + "].reason")
		condition.Message = c.next("Pod.status.conditions[" + string(kind) + "].message")
		o.Status.Conditions = append(o.Status.Conditions, condition)
	}
}

// apiServer answers the tracker's requests as an API server does: with its first lists as streams, and
// then with later objects as events of the watches. It takes any object, also one that a real API
// server would refuse.
type apiServer struct {
	first, later map[string][]any

	mu      sync.Mutex
	watched map[string]bool
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/api/v1/namespaces" && r.URL.Query().Get("fieldSelector") == "metadata.name=kube-system" {
		_ = json.NewEncoder(w).Encode(&corev1.NamespaceList{
			TypeMeta: metav1.TypeMeta{Kind: "NamespaceList", APIVersion: "v1"},
			Items:    []corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "the-cluster"}}},
		})
		return
	}
	if r.URL.Query().Get("watch") == "" {
		http.Error(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"InternalError","code":500}`, http.StatusInternalServerError)
		return
	}
	send := func(kind string, object any) {
		_ = json.NewEncoder(w).Encode(map[string]any{"type": kind, "object": typed(object)})
		w.(http.Flusher).Flush()
	}
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		for _, o := range s.first[r.URL.Path] {
			send("ADDED", o)
		}
		end := reflect.New(reflect.TypeOf(s.first[r.URL.Path][0]).Elem()).Interface()
		meta := end.(metav1.ObjectMetaAccessor).GetObjectMeta()
		meta.SetResourceVersion("20")
		meta.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
		send("BOOKMARK", end)
	}
	s.mu.Lock()
	again := s.watched[r.URL.Path]
	s.watched[r.URL.Path] = true
	s.mu.Unlock()
	if !again {
		for i, o := range s.later[r.URL.Path] {
			o.(metav1.ObjectMetaAccessor).GetObjectMeta().SetResourceVersion(fmt.Sprint(30 + i))
			send("ADDED", o)
		}
	}
	<-r.Context().Done()
}

// typed sets the kind and version of an object, which its JSON needs.
func typed(object any) any {
	meta := reflect.ValueOf(object).Elem().FieldByName("TypeMeta")
	if meta.FieldByName("Kind").String() == "" {
		of := reflect.TypeOf(object).Elem()
		version := "v1"
		for pkg, group := range map[string]string{"storage": "storage.k8s.io/v1", "apps": "apps/v1"} {
			if strings.HasSuffix(of.PkgPath(), "/"+pkg+"/v1") {
				version = group
			}
		}
		if of.Name() == "PartialObjectMetadata" {
			version = "meta.k8s.io/v1"
		}
		meta.Set(reflect.ValueOf(metav1.TypeMeta{Kind: of.Name(), APIVersion: version}))
	}
	return object
}

// kindOf returns the kind of the objects of a list.
func kindOf(path string, object any) fact.Kind {
	if kind, ok := metadataPaths[path]; ok {
		return kind
	}
	return fact.Kind(reflect.TypeOf(object).Elem().Name())
}

// start serves until the test ends, and returns a kubeconfig.
func (s *apiServer) start(t *testing.T) string {
	t.Helper()
	s.watched = map[string]bool{}
	server := httptest.NewServer(s)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{name: a, cluster: {server: '" + server.URL + "'}}]\ncontexts: [{name: a, context: {cluster: a, user: a}}]\nusers: [{name: a, user: {}}]\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
