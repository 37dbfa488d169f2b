package inventory

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// The labels and annotations that name the owner of an object. The first one that is set wins; a
// label comes before an annotation. Organisations use different keys; these are the project's own
// and common plain words.
var (
	ownerKeys = []string{"kubevoltracker.io/owner", "owner"}
	groupKeys = []string{"kubevoltracker.io/groups", "groups", "group", "team"}
)

// mostLineBytes is how much counts of an owner, of a list of groups, and of the reason for which a volume is kept. Each mount of a pod has
// the first two in its row, and annotations may have 256 KiB: a pod with a hundred mounts would write 25 MB.
const mostLineBytes = 2048

// NamesOwner reports whether a label or annotation with this key can name an owner or a group.
func NamesOwner(key string) bool {
	return slices.Contains(ownerKeys, key) || slices.Contains(groupKeys, key)
}

// ownerOf returns the owner of an object, empty if no key names one.
func ownerOf(labels, annotations fact.Labels) string {
	return cutLine(firstOf(ownerKeys, labels, annotations), mostLineBytes)
}

// cutLine returns the whole characters among the first bytes of a text, as oneLine leaves them.
func cutLine(text string, most int) string { return oneLine(text[:min(len(text), most)]) }

// oneLine returns a text without what is not UTF-8, and with a space in place of each control character and each separator of
// lines. The text becomes a label of metrics, a cell of reports, and a part of links; no name in Kubernetes has such characters.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, ""))
}

// groupsOf returns the groups of an object, each once, from a list with commas or blanks between them; nil if no key names one.
func groupsOf(labels, annotations fact.Labels) []string {
	value := oneLine(firstOf(groupKeys, labels, annotations))
	if value == "" {
		return nil
	}
	if len(value) > mostLineBytes {
		value = value[:strings.LastIndexAny(value[:mostLineBytes+1], ", ")+1] // whole groups alone
	}
	groups := strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
	for i := len(groups) - 1; i > 0; i-- {
		if slices.Contains(groups[:i], groups[i]) {
			groups = slices.Delete(groups, i, i+1)
		}
	}
	return groups
}

// firstOf returns the value of the first key that is set.
func firstOf(keys []string, labels, annotations fact.Labels) string {
	for _, key := range keys {
		if v := cmp.Or(labels[key], annotations[key]); v != "" {
			return v
		}
	}
	return ""
}
