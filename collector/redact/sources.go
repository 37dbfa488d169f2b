package redact

import (
	"reflect"
	"slices"
	"strings"
	"sync"
)

// sourceFields are the kept fields of each backing store, by the API's names, for volumes and for
// pods. Not in it are the references to Secrets, and the paths of files with keys (rbd's keyring,
// cephfs's secretFile).
var sourceFields = map[string]string{
	"awsElasticBlockStore": "volumeID fsType partition readOnly",
	"azureDisk":            "diskName diskURI cachingMode fsType readOnly kind",
	"azureFile":            "shareName readOnly",
	"cephfs":               "monitors path user readOnly",
	"cinder":               "volumeID fsType readOnly",
	"csi":                  "driver volumeHandle readOnly fsType volumeAttributes",
	"emptyDir":             "medium sizeLimit",
	"fc":                   "targetWWNs lun fsType readOnly wwids",
	"flexVolume":           "driver fsType readOnly options",
	"flocker":              "datasetName datasetUUID",
	"gcePersistentDisk":    "pdName fsType partition readOnly",
	"gitRepo":              "repository revision directory",
	"glusterfs":            "endpoints endpointsNamespace path readOnly",
	"hostPath":             "path type",
	"image":                "reference pullPolicy",
	"iscsi":                "targetPortal portals iqn lun iscsiInterface fsType readOnly chapAuthDiscovery chapAuthSession initiatorName",
	"local":                "path fsType",
	"nfs":                  "server path readOnly",
	"photonPersistentDisk": "pdID fsType",
	"portworxVolume":       "volumeID fsType readOnly",
	"quobyte":              "registry volume readOnly user group tenant",
	"rbd":                  "monitors image fsType pool user readOnly",
	"scaleIO":              "gateway system sslEnabled protectionDomain storagePool storageMode volumeName fsType readOnly",
	"storageos":            "volumeName volumeNamespace fsType readOnly",
	"vsphereVolume":        "volumePath fsType storagePolicyName storagePolicyID",
}

// source drops from a union of the API, a PersistentVolumeSource or a pod's VolumeSource, the fields
// that sourceFields does not name. Of a member that it does not know the kind alone is left.
func source(union any) {
	v := reflect.ValueOf(union).Elem()
	for i, fields := range plan(v.Type()) {
		member := v.Field(i)
		if member.IsNil() {
			continue
		}
		of := member.Elem()
		for j, kept := range fields {
			if kept {
				mask(of.Field(j))
			} else {
				of.Field(j).SetZero()
			}
		}
	}
}

// plans has, by union, which fields of which member are kept.
var plans sync.Map // of reflect.Type to [][]bool

func plan(union reflect.Type) [][]bool {
	if known, ok := plans.Load(union); ok {
		return known.([][]bool)
	}
	members := make([][]bool, union.NumField())
	for i := range members {
		fields := strings.Fields(sourceFields[jsonName(union.Field(i))])
		member := union.Field(i).Type.Elem()
		members[i] = make([]bool, member.NumField())
		for j := range members[i] {
			members[i][j] = slices.Contains(fields, jsonName(member.Field(j)))
		}
	}
	plans.Store(union, members)
	return members
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// mask masks and bounds the texts of a kept field.
func mask(field reflect.Value) {
	switch field.Kind() {
	case reflect.String:
		if s := field.String(); s != "" {
			if m := Text(s); m != s {
				field.SetString(m)
			}
		}
	case reflect.Pointer:
		if !field.IsNil() {
			mask(field.Elem())
		}
	case reflect.Slice:
		field.Set(reflect.ValueOf(first(texts(field.Interface().([]string)), textBytes)))
	case reflect.Map:
		bounded(parameters(field.Interface().(map[string]string)))
	}
}
