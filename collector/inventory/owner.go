package inventory

import (
	"slices"
	"strings"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// Labels and annotations that name who owns an object, the first that is set
// wins, a label before an annotation. Organisations differ in their habits; these are
// the project's own key and the plain words in common use.
var (
	ownerKeys = []string{"kubevoltracker.io/owner", "owner"}
	groupKeys = []string{"kubevoltracker.io/groups", "groups", "group", "team"}
)

// NamesOwner reports whether a label or annotation of this key can name an owner
// or a group.
func NamesOwner(key string) bool {
	return slices.Contains(ownerKeys, key) || slices.Contains(groupKeys, key)
}

// ownerOf returns who owns an object, empty if it does not say.
func ownerOf(labels, annotations fact.Labels) string { return firstOf(ownerKeys, labels, annotations) }

// groupsOf returns the groups an object belongs to: a list parted by commas
// nil if it does not say.
func groupsOf(labels, annotations fact.Labels) []string {
	value := firstOf(groupKeys, labels, annotations)
	if value == "" {
		return nil
	}
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
}

func firstOf(keys []string, labels, annotations fact.Labels) string {
	for _, key := range keys {
		if v := labels[key]; v != "" {
			return v
		}
		if v := annotations[key]; v != "" {
			return v
		}
	}
	return ""
}
