package exporter

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// Matcher is a list of names and regular expressions; each matches a whole name.
type Matcher []*regexp.Regexp

// Add puts a name or a regular expression into the list. The error names it.
func (m *Matcher) Add(pattern string) error {
	if pattern == "" {
		return errors.New("an empty name; a volume without one is matched by ^$")
	}
	r, err := regexp.Compile("^(?:" + pattern + ")$")
	if err != nil {
		return fmt.Errorf("%q is neither a name nor a regular expression: %w", pattern, err)
	}
	*m = append(*m, r)
	return nil
}

func (m Matcher) matches(name string) bool {
	return slices.ContainsFunc(m, func(r *regexp.Regexp) bool { return r.MatchString(name) })
}

// Filter selects the objects with series of their own: all objects, or those whose names match
// Allow if it is not empty, without those whose names match Deny.
type Filter struct{ Allow, Deny Matcher }

func (f *Filter) passes(name string) bool {
	return (len(f.Allow) == 0 || f.Allow.matches(name)) && !f.Deny.matches(name)
}

// LabelKeys are labels of objects in Kubernetes, by their keys.
type LabelKeys []string

// maxLabelKeys bounds a volume's text, whose cuts have 16 bits: with a name of 300 bytes
// and a value of 63, both lists take 23 KB at most.
const maxLabelKeys = 32

// Add puts keys, parted by commas, into the list. The error names the wrong one.
func (l *LabelKeys) Add(keys string) error {
	for key := range strings.SplitSeq(keys, ",") {
		key = strings.TrimSpace(key)
		if problems := validation.IsQualifiedName(key); len(problems) > 0 {
			return fmt.Errorf("%q is no label of Kubernetes: %s", key, problems[0])
		}
		if !slices.Contains(*l, key) {
			*l = append(*l, key)
		}
	}
	if len(*l) > maxLabelKeys {
		return fmt.Errorf("%d labels, and %d are the most", len(*l), maxLabelKeys)
	}
	return nil
}

// carriedLabel is a label of an object that volume_info carries.
type carriedLabel struct{ key, name string }

var (
	notInLabelName = regexp.MustCompile(`[^a-zA-Z0-9_]`)
	camelHump      = regexp.MustCompile(`([a-z0-9])([A-Z])`)
)

// carry gives labels their names in Prometheus as kube-state-metrics does: it replaces invalid
// characters with underscores and camelCase with snake_case, and numbers labels whose names become
// equal, in the order of their keys. Unlike kube-state-metrics it numbers them by the list alone
// and not by the labels that an object has, so a name always means the same label.
func carry(prefix string, keys LabelKeys) []carriedLabel {
	list := make([]carriedLabel, 0, len(keys))
	same := map[string][]int{}
	for i, key := range slices.Sorted(slices.Values(keys)) {
		name := prefix + strings.ToLower(camelHump.ReplaceAllString(notInLabelName.ReplaceAllString(key, "_"), "${1}_${2}"))
		list = append(list, carriedLabel{key, name})
		same[name] = append(same[name], i)
	}
	for name, places := range same {
		for n, i := range places {
			if len(places) > 1 {
				list[i].name = fmt.Sprintf("%s_conflict%d", name, n+1)
			}
		}
	}
	return list
}

// appendCarried appends the labels that an object has.
func appendCarried(b []byte, carried []carriedLabel, labels fact.LabelSet) []byte {
	for _, c := range carried {
		if value := labels.Get(c.key); value != "" {
			b = appendLabel(append(b, ','), c.name, value)
		}
	}
	return b
}
