package redact

import (
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

func TestAnnotationsAreKeptByName(t *testing.T) {
	p, err := New("example.com/cost-center", "example.com/api-token")
	if err != nil {
		t.Fatal(err)
	}
	o := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
		"example.com/cost-center": "42", "example.com/api-token": "x", "example.com/other": "x", "kubevoltracker.io/note": "n", "owner": "dana",
		"kubevoltracker.io/owner": "kim", "kubevoltracker.io/keep": "until 2027-01-31", "volume.kubernetes.io/selected-node": "node-1", corev1.LastAppliedConfigAnnotation: "{}", "Owner": "x",
	}}}
	p.Object(fact.Claims, o)
	want := map[string]string{
		"example.com/cost-center": "42", "example.com/api-token": Mask, "owner": "dana", "kubevoltracker.io/owner": "kim", "kubevoltracker.io/keep": "until 2027-01-31",
		"volume.kubernetes.io/selected-node": "node-1",
	}
	if !reflect.DeepEqual(o.Annotations, want) {
		t.Errorf("%v are left", o.Annotations)
	}
	if _, err := New("owner", corev1.LastAppliedConfigAnnotation); err == nil {
		t.Error("an annotation with whole objects can be kept")
	}
}

func TestAnObjectOfAnotherTypeIsEmptied(t *testing.T) {
	o := &corev1.Secret{Data: map[string][]byte{"a": []byte("x")}}
	if (Policy{}).Object("Secret", o); o.Data != nil {
		t.Errorf("%v is left", o)
	}
}

// A member that a later version of the API adds to a union is to be on the list, or nothing but its kind is kept.
func TestEveryBackingStoreIsOnTheList(t *testing.T) {
	without := map[string]string{ // the list names no fields of these
		"secret": "", "configMap": "", "projected": "", "downwardAPI": "", // dropped with their volume
		"persistentVolumeClaim": "", "ephemeral": "", // in pods.go
	}
	found := map[string]bool{}
	for _, union := range []reflect.Type{reflect.TypeFor[corev1.PersistentVolumeSource](), reflect.TypeFor[corev1.VolumeSource]()} {
		for i := range union.NumField() {
			name := jsonName(union.Field(i))
			if _, ok := without[name]; ok {
				continue
			}
			for j := range union.Field(i).Type.Elem().NumField() {
				found[name+" "+jsonName(union.Field(i).Type.Elem().Field(j))] = true
			}
			if sourceFields[name] == "" {
				t.Errorf("%s of %s is not on the list", name, union.Name())
			}
		}
	}
	for name, fields := range sourceFields {
		for field := range strings.FieldsSeq(fields) {
			if !found[name+" "+field] {
				t.Errorf("the API has no %s of %s", field, name)
			}
		}
	}
}

func TestOfAnUnknownBackingStoreTheKindIsKept(t *testing.T) {
	union := struct {
		Tape *struct {
			Label string `json:"label"`
		} `json:"tape"`
		Disk *struct{} `json:"disk"`
	}{Tape: &struct {
		Label string `json:"label"`
	}{"x"}}
	if source(&union); union.Tape == nil || union.Tape.Label != "" || union.Disk != nil {
		t.Errorf("%+v is left", union.Tape)
	}
}

func TestRedactingAgainChangesNothing(t *testing.T) {
	o := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"token": "x", "app": "db"}, Annotations: map[string]string{"owner": "https://a:b@c"}},
		Spec: corev1.PersistentVolumeSpec{
			MountOptions:           []string{"password=x"},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "d", VolumeAttributes: map[string]string{"key": "x", "url": "//a:b@c"}}},
		},
	}
	Policy{}.Object(fact.Volumes, o)
	once := o.DeepCopy()
	if (Policy{}).Object(fact.Volumes, o); !reflect.DeepEqual(o, once) {
		t.Errorf("%v\n%v", once, o)
	}
}

func TestRowsOfAnOlderTrackerAreMasked(t *testing.T) {
	labels := func() fact.Labels { return fact.Labels{"app": "db", "db-token": "hunter2"} }
	annotations := func() fact.Labels {
		return fact.Labels{"owner": "dana", corev1.LastAppliedConfigAnnotation: "hunter2", "example.com/other": "hunter2"}
	}
	const url = "https://user:hunter2@store.example"
	rows := fact.Facts{
		Namespaces:     []fact.Namespace{{Name: "shop", Owner: url, Labels: labels()}},
		StorageClasses: []fact.StorageClass{{Name: "fast", Parameters: fact.Labels{"type": "ssd", "adminSecretName": "hunter2", "user-key": "hunter2"}}},
		VolumeSources: []fact.VolumeSource{{Kind: "rbd", Server: url, Path: "/pool", Attributes: map[string]string{
			"keyring": "/etc/hunter2", "volumeAttributes.password": "hunter2", "source": url, "pool": "ssd",
		}}},
		Volumes:     []fact.Volume{{Name: "vol", VolumeHandle: url, Labels: labels(), Annotations: annotations()}},
		Claims:      []fact.Claim{{Name: "data", Owner: url, Labels: labels(), Annotations: annotations()}},
		Pods:        []fact.Pod{{Name: "db-0", Owner: url, Labels: labels()}},
		Containers:  []fact.Container{{Name: "db", Command: "/bin/db --password=hunter2"}},
		Attachments: []fact.Attachment{{Node: "node-1", Error: "password=hunter2"}},
	}
	Policy{}.Rows(&rows)
	if text := strings.ToLower(strings.Join(textsIn(reflect.ValueOf(rows)), "\n")); strings.Contains(text, "hunter2") {
		t.Errorf("a secret is left:\n%s", text)
	}
	if rows.Claims[0].Annotations["owner"] != "dana" || rows.VolumeSources[0].Attributes["pool"] != "ssd" || rows.Pods[0].Labels["app"] != "db" ||
		rows.Containers[0].Command != "/bin/db" || rows.VolumeSources[0].Server != "https://***@store.example" {
		t.Errorf("more than the secrets is gone: %+v", rows)
	}
}

// textsIn are all texts in a value.
func textsIn(v reflect.Value) (list []string) {
	switch v.Kind() {
	case reflect.String:
		list = append(list, v.String())
	case reflect.Slice:
		for i := range v.Len() {
			list = append(list, textsIn(v.Index(i))...)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			list = append(list, textsIn(v.Field(i))...)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			list = append(list, key.String()+"="+v.MapIndex(key).String())
		}
	}
	return list
}
