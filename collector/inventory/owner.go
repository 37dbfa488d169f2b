package inventory

import (
	"slices"
	"strings"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// The labels and annotations that name the owner of an object. The first one that is set wins; a
// label comes before an annotation. Organisations use different keys; these are the project's own
// and common plain words.
var (
	ownerKeys = []string{"kubevoltracker.io/owner", "owner"}
	groupKeys = []string{"kubevoltracker.io/groups", "groups", "group", "team"}
)

// NamesOwner reports whether a label or annotation with this key can name an owner or a group.
func NamesOwner(key string) bool {
	return slices.Contains(ownerKeys, key) || slices.Contains(groupKeys, key)
}

// ownerOf returns the owner of an object, empty if no key names one.
func ownerOf(labels, annotations fact.Labels) string { return firstOf(ownerKeys, labels, annotations) }

// groupsOf returns the groups of an object, each once, from a comma-separated list; nil if no key names one.
func groupsOf(labels, annotations fact.Labels) []string {
	value := firstOf(groupKeys, labels, annotations)
	if value == "" {
		return nil
	}
	groups := strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
	for i := len(groups) - 1; i > 0; i-- {
		if slices.Contains(groups[:i], groups[i]) {
			groups = slices.Delete(groups, i, i+1)
		}
	}
	return groups
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
