package statemetrics

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	generator "k8s.io/kube-state-metrics/v2/pkg/metric_generator"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// Texts are the texts of all present objects. The caller guards them by a lock.
type Texts struct {
	kinds []*kindTexts
}

// kindTexts are the texts of one kind's objects. They are dense, so that a scrape copies them with one
// memmove.
type kindTexts struct {
	kind     fact.Kind
	families []header
	listed   bool             // all objects are known
	places   map[string]int32 // by UID: the index of an object's text
	texts    []string
	uids     []string // parallel to texts
}

// header is the name and help of a family.
type header struct{ name, help string }

// NewTexts returns the texts of no objects yet. It accepts nil, and then never has any families.
func NewTexts(g *Generators) *Texts {
	t := &Texts{}
	if g == nil {
		return t
	}
	for _, kind := range g.Kinds() {
		k := &kindTexts{kind: kind, places: map[string]int32{}}
		for _, text := range generator.ExtractMetricFamilyHeaders(g.of[kind]) {
			rest := strings.TrimPrefix(text, "# HELP ")
			name, rest, _ := strings.Cut(rest, " ")
			help, _, _ := strings.Cut(rest, "\n")
			k.families = append(k.families, header{name, help})
		}
		t.kinds = append(t.kinds, k)
	}
	return t
}

// Apply applies the texts of an update.
func (t *Texts) Apply(u *fact.Update) {
	for _, k := range t.kinds {
		if slices.Contains(u.Relisted, k.kind) {
			k.listed = true
			k.places, k.texts, k.uids = map[string]int32{}, nil, nil
		}
	}
	for i := range u.Rendered {
		r := &u.Rendered[i]
		for _, k := range t.kinds {
			if k.kind == r.Kind {
				k.apply(r)
			}
		}
	}
}

func (k *kindTexts) apply(r *fact.Rendered) {
	place, known := k.places[r.UID]
	switch {
	case r.Gone && known:
		last := len(k.texts) - 1
		k.texts[place], k.uids[place] = k.texts[last], k.uids[last]
		k.places[k.uids[place]] = place
		k.texts[last], k.uids[last] = "", ""
		k.texts, k.uids = k.texts[:last], k.uids[:last]
		delete(k.places, r.UID)
	case r.Gone:
	case known:
		k.texts[place] = r.Text
	default:
		k.places[r.UID] = int32(len(k.texts))
		k.texts, k.uids = append(k.texts, r.Text), append(k.uids, r.UID)
	}
}

// Complete returns nil once the objects of all kinds are known, and before that an error that names
// the missing kinds.
func (t *Texts) Complete() error {
	var missing []string
	for _, k := range t.kinds {
		if !k.listed {
			missing = append(missing, string(k.kind))
		}
	}
	if missing == nil {
		return nil
	}
	return fmt.Errorf("not listed yet for kube-state-metrics' families: %s", strings.Join(missing, ", "))
}

// Moment is a copy of the texts.
type Moment struct {
	kinds []kindTexts
}

// Moment copies 16 bytes an object. It is empty until the objects of all kinds are known.
func (t *Texts) Moment() (m Moment) {
	if t.Complete() != nil {
		return m
	}
	for _, k := range t.kinds {
		m.kinds = append(m.kinds, kindTexts{families: k.families, texts: slices.Clone(k.texts)})
	}
	return m
}

// Family is a gauge family.
type Family struct {
	Name, Help string
	// Lines yields each sample without the name: `{label="value"} 1` and a line feed. A line is only
	// valid until the next is asked for.
	Lines iter.Seq[[]byte]
}

// Families returns all families, also those without samples.
func (m Moment) Families() (all []Family) {
	for i := range m.kinds {
		k := &m.kinds[i]
		for j, f := range k.families {
			all = append(all, Family{f.name, f.help, k.lines(j)})
		}
	}
	return all
}

// lines yields the lines of family i.
func (k *kindTexts) lines(i int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var line []byte
		for _, text := range k.texts {
			prefix, rests := linesOf(text, len(k.families), i)
			for rest := range strings.Lines(rests) {
				line = append(append(line[:0], prefix...), rest...)
				if !yield(line) {
					return
				}
			}
		}
	}
}
