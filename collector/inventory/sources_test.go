package inventory

import (
	"maps"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestVolumeSources(t *testing.T) {
	secret := &corev1.SecretReference{Name: "password"}
	for name, test := range map[string]struct {
		union                      any
		kind, driver, server, path string
		attributes                 map[string]string
	}{
		"nfs": {&corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "filer", Path: "/a", ReadOnly: true}},
			"nfs", "", "filer", "/a", map[string]string{"server": "filer", "path": "/a", "readOnly": "true"}},
		"iscsi": {&corev1.PersistentVolumeSource{ISCSI: &corev1.ISCSIPersistentVolumeSource{
			TargetPortal: "10.0.0.1:3260", IQN: "iqn.2026-01.example:disk", Portals: []string{"10.0.0.2", "10.0.0.3"}, SecretRef: secret,
		}}, "iscsi", "", "10.0.0.1:3260", "iqn.2026-01.example:disk/0",
			map[string]string{"targetPortal": "10.0.0.1:3260", "iqn": "iqn.2026-01.example:disk", "portals": "10.0.0.2,10.0.0.3"}},
		"csi": {&corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
			Driver: "csi.example", VolumeHandle: "vol-7", VolumeAttributes: map[string]string{"server": "store"}, NodeStageSecretRef: secret,
		}}, "csi", "csi.example", "store", "vol-7",
			map[string]string{"driver": "csi.example", "volumeHandle": "vol-7", "volumeAttributes.server": "store"}},
		"azureFile": {&corev1.VolumeSource{AzureFile: &corev1.AzureFileVolumeSource{SecretName: "s", ShareName: "share"}},
			"azureFile", "", "", "share", map[string]string{"shareName": "share"}},
		"emptyDir": {&corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: new(resource.MustParse("1Gi"))}},
			"emptyDir", "", "", "", map[string]string{"sizeLimit": "1Gi"}},
		"hostPath": {&corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/var/log"}},
			"hostPath", "", "", "/var/log", map[string]string{"path": "/var/log"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, ok := volumeSource(test.union)
			if !ok || s.Kind != test.kind || s.Driver != test.driver || s.Server != test.server || s.Path != test.path ||
				!maps.Equal(s.Attributes, test.attributes) {
				t.Errorf("got %+v", s)
			}
			again, _ := volumeSource(test.union)
			expect(t, "id", sourceID(again.Kind, again.Attributes), sourceID(s.Kind, s.Attributes))
		})
	}
	if s, ok := volumeSource(&corev1.PersistentVolumeSource{}); ok {
		t.Errorf("an empty union gave %+v", s)
	}
}

// TestEveryMemberOfTheUnionsIsASource goes over the API's own fields, so that one
// that a later version of the API adds is covered, too.
func TestEveryMemberOfTheUnionsIsASource(t *testing.T) {
	for _, union := range []reflect.Type{reflect.TypeFor[corev1.PersistentVolumeSource](), reflect.TypeFor[corev1.VolumeSource]()} {
		for i := range union.NumField() {
			value := reflect.New(union)
			member := reflect.New(union.Field(i).Type.Elem())
			// Each text field of it is set to its own name.
			for j := range member.Elem().NumField() {
				if f := member.Elem().Field(j); f.Kind() == reflect.String {
					f.SetString(jsonName(member.Elem().Type().Field(j)))
				}
			}
			value.Elem().Field(i).Set(member)
			want := jsonName(union.Field(i))
			s, ok := volumeSource(value.Interface())
			if !ok || s.Kind != want {
				t.Errorf("%s.%s is taken for %q", union.Name(), want, s.Kind)
			}
			for key := range s.Attributes {
				if strings.Contains(strings.ToLower(key), "secret") {
					t.Errorf("%s.%s tells %s", union.Name(), want, key)
				}
			}
		}
	}
}

func TestReferencesToSecretsAreLeftOutByTheirType(t *testing.T) {
	future := struct {
		Store       string                       `json:"store"`
		Credentials *corev1.SecretReference      `json:"credentials"`
		Login       *corev1.LocalObjectReference `json:"login"`
	}{"s1", &corev1.SecretReference{Name: "password"}, &corev1.LocalObjectReference{Name: "login"}}
	got := map[string]string{}
	flatten(got, "", reflect.ValueOf(future))
	if len(got) != 1 || got["store"] != "s1" {
		t.Errorf("got %v", got)
	}
}
