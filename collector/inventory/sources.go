package inventory

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unique"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/intern"
)

// source is a backing store that an object in memory refers to. Its row has been emitted and is not
// kept.
type source struct {
	id       [16]byte
	kind     intern.Word
	users    int32
	readOnly bool // nobody can write to it through this source
}

func (s *source) kindOr(none string) string {
	if s == nil {
		return none
	}
	return s.kind.Value()
}

func (s *source) isReadOnly() bool { return s != nil && s.readOnly }

func (s *source) idText() string {
	if s == nil {
		return ""
	}
	return hex.EncodeToString(s.id[:])
}

// acquireSource counts one more reference to a backing store; the first one emits its row.
func (inv *Inventory) acquireSource(row fact.VolumeSource, obs Observation) *source {
	id := sourceID(row.Kind, row.Attributes)
	s := inv.sources[id]
	if s == nil {
		readOnly := row.Attributes["readOnly"] == "true" || row.Kind == "image" // KEP-4639: images are
		s = retainOne(inv, &inv.backing, source{kind: unique.Make(row.Kind), id: id, readOnly: readOnly})
		inv.sources[id] = s
		row.ID = s.idText()
		row.Version = inv.nextVersion(obs.At)
		inv.update.Facts.VolumeSources = append(inv.update.Facts.VolumeSources, row)
	}
	s.users++
	return s
}

func (inv *Inventory) releaseSource(s *source) {
	if s == nil {
		return
	}
	if s.users--; s.users == 0 {
		delete(inv.sources, s.id)
	}
}

// volumeSource reads the backing store from a union of the API: a PersistentVolumeSource or a pod's
// VolumeSource. It uses the union's own fields and no list of kinds, so it also reads a kind that
// the API adds later. It returns false if no member is set, as when a newer server sends a member
// that these API types lack. It does not set ID and Version.
func volumeSource(union any) (fact.VolumeSource, bool) {
	kind, member := unionMember(reflect.ValueOf(union).Elem())
	if kind == "" {
		return fact.VolumeSource{}, false
	}
	attributes := map[string]string{}
	flatten(attributes, "", member)
	s := fact.VolumeSource{
		Kind:       kind,
		Driver:     attributes["driver"],
		Attributes: attributes,
	}
	s.Server, s.Path = serverAndPath(kind, attributes)
	return s, true
}

// unionMember returns the API's name of the one member of a union that is set,
// and what it points to.
func unionMember(union reflect.Value) (string, reflect.Value) {
	for i := range union.NumField() {
		if f := union.Field(i); f.Kind() == reflect.Pointer && !f.IsNil() {
			return jsonName(union.Type().Field(i)), f.Elem()
		}
	}
	return "", reflect.Value{}
}

func jsonName(f reflect.StructField) string {
	tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return tag
}

// flatten writes every field that is set into attributes, under its name in the API; a dot precedes
// the fields of inner structs and maps. It leaves out references to secrets, which say who may use
// the store and not what it is.
func flatten(attributes map[string]string, prefix string, v reflect.Value) {
	switch v.Type() {
	case reflect.TypeFor[corev1.SecretReference](), reflect.TypeFor[corev1.LocalObjectReference]():
		return
	case reflect.TypeFor[resource.Quantity]():
		q := v.Interface().(resource.Quantity)
		attributes[prefix] = q.String()
		return
	}
	under := func(key string) string {
		if prefix == "" {
			return key
		}
		return prefix + "." + key
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			flatten(attributes, prefix, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if key := jsonName(v.Type().Field(i)); key != "" && !strings.Contains(strings.ToLower(key), "secret") {
				flatten(attributes, under(key), v.Field(i))
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			flatten(attributes, under(key.String()), v.MapIndex(key))
		}
	case reflect.Slice:
		if v.Len() > 0 {
			attributes[prefix] = joined(v)
		}
	default:
		if !v.IsZero() {
			attributes[prefix] = fmt.Sprint(v.Interface())
		}
	}
}

func joined(list reflect.Value) string {
	parts := make([]string, list.Len())
	for i := range parts {
		parts[i] = fmt.Sprint(list.Index(i).Interface())
	}
	return strings.Join(parts, ",")
}

// sourceID hashes a kind and its attributes: the same backing store has the same id in every
// cluster and at any time.
func sourceID(kind string, attributes map[string]string) [16]byte {
	h := sha256.New()
	h.Write([]byte(kind))
	for _, key := range slices.Sorted(maps.Keys(attributes)) {
		for _, part := range []string{key, attributes[key]} {
			h.Write([]byte{0})
			h.Write([]byte(part))
		}
	}
	return [16]byte(h.Sum(nil))
}

// serverKeys and pathKeys name the attributes with a kind's server and with the path on it. The
// entry "" serves all other kinds, with the names that drivers commonly use. Keys joined by + are
// joined with a slash.
var (
	serverKeys = map[string][]string{
		"iscsi":     {"targetPortal"},
		"rbd":       {"monitors"},
		"cephfs":    {"monitors"},
		"glusterfs": {"endpoints"},
		"fc":        {"targetWWNs", "wwids"},
		"quobyte":   {"registry"},
		"scaleIO":   {"gateway"},
		"csi":       {"volumeAttributes.server", "volumeAttributes.monitors", "volumeAttributes.targetPortal", "volumeAttributes.source"},
		"":          {"server"},
	}
	pathKeys = map[string][]string{
		"iscsi":                {"iqn+lun"},
		"rbd":                  {"pool+image"},
		"fc":                   {"lun"},
		"csi":                  {"volumeHandle", "volumeAttributes.share", "volumeAttributes.path"},
		"awsElasticBlockStore": {"volumeID"},
		"gcePersistentDisk":    {"pdName"},
		"azureDisk":            {"diskURI", "diskName"},
		"azureFile":            {"shareName"},
		"cinder":               {"volumeID"},
		"portworxVolume":       {"volumeID"},
		"photonPersistentDisk": {"pdID"},
		"vsphereVolume":        {"volumePath"},
		"scaleIO":              {"volumeName"},
		"storageos":            {"volumeName"},
		"quobyte":              {"volume"},
		"flocker":              {"datasetUUID", "datasetName"},
		"gitRepo":              {"repository"},
		"image":                {"reference"},
		"":                     {"path"},
	}
)

func serverAndPath(kind string, attributes map[string]string) (server, path string) {
	pick := func(table map[string][]string) string {
		keys, ok := table[kind]
		if !ok {
			keys = table[""]
		}
		for _, key := range keys {
			if first, second, joined := strings.Cut(key, "+"); joined && attributes[first] != "" {
				// A LUN or image that is absent is number 0, which flatten leaves out.
				if rest := attributes[second]; rest != "" {
					return attributes[first] + "/" + rest
				}
				return attributes[first] + "/0"
			}
			if v := attributes[key]; v != "" {
				return v
			}
		}
		return ""
	}
	return pick(serverKeys), pick(pathKeys)
}

// storageVolume reports whether a pod's volume is storage: every volume except those that bring
// configuration into the pod.
func storageVolume(v *corev1.Volume) bool {
	return v.Secret == nil && v.ConfigMap == nil && v.Projected == nil && v.DownwardAPI == nil
}
