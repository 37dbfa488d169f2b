package redact

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

// The bounds of what users write. Real objects are far below them. The API server accepts objects of 1.5 MB, as often as a user sends
// one, and each version would be in the journal and in the catalog.
const (
	// mostTextBytes bounds a text: 4 KiB, the longest path that Linux takes (PATH_MAX). It exceeds what the inventory takes of an owner or
	// of a list of groups, so that the inventory still sees that the list was longer.
	mostTextBytes = 4 << 10
	// mostNameBytes bounds the name, kind or API version of an object: they have up to 253, 63 and 317 bytes.
	mostNameBytes = 512
	// mostBytes bounds a list, and a map with its keys: 8 KiB, a hundred labels.
	mostBytes = 8 << 10
)

// cut returns the whole characters among the first bytes of a text.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

// cutNames cuts, in place, each of the names that is not nil.
func cutNames(names ...*string) {
	for _, name := range names {
		if name != nil {
			*name = cut(*name, mostNameBytes)
		}
	}
}

// bounded drops from a map, in place, what exceeds mostBytes, and returns the map. It keeps an entry if there is room for it beside
// those that were kept before. The keys that name an owner or a group come first, then the annotations that are always kept.
func bounded(m map[string]string) map[string]string {
	size := 0
	for key, value := range m {
		size += len(key) + len(value)
	}
	if size <= mostBytes {
		return m
	}
	left := mostBytes
	for _, key := range slices.SortedFunc(maps.Keys(m), byRank) {
		if size := len(key) + len(m[key]); size <= left {
			left -= size
		} else {
			delete(m, key)
		}
	}
	return m
}

// byRank compares keys by how much is lost without them, then by their names.
func byRank(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b)) }

func rank(key string) int {
	switch {
	case inventory.NamesOwner(key):
		return 0
	case annotations[key]:
		return 1
	default:
		return 2
	}
}

// first returns the first elements of a list that have mostBytes together.
func first[T any](list []T, size func(*T) int) []T {
	left := mostBytes
	for i := range list {
		if left -= size(&list[i]); left < 0 {
			return list[:i:i]
		}
	}
	return list
}

// textBytes is the size of a text, for first.
func textBytes[T ~string](text *T) int { return len(*text) }

// references keeps the first owner references. The controller, of which there is one at most, is always among them.
func references(list []metav1.OwnerReference) []metav1.OwnerReference {
	for i := range list {
		r := &list[i]
		cutNames(&r.APIVersion, &r.Kind, &r.Name, (*string)(&r.UID))
		*r = metav1.OwnerReference{APIVersion: r.APIVersion, Kind: r.Kind, Name: r.Name, UID: r.UID, Controller: r.Controller, BlockOwnerDeletion: r.BlockOwnerDeletion}
	}
	kept := first(list, (*metav1.OwnerReference).Size)
	controls := func(r metav1.OwnerReference) bool { return r.Controller != nil && *r.Controller }
	if i := slices.IndexFunc(list, controls); i >= len(kept) {
		list[0], list[i] = list[i], list[0]
		return first(list, (*metav1.OwnerReference).Size)
	}
	return kept
}
