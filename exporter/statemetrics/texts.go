package statemetrics

import (
	"crypto/sha256"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/google/uuid"
	generator "k8s.io/kube-state-metrics/v2/pkg/metric_generator"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// Texts are the texts of all present objects. The caller guards them by a lock.
type Texts struct {
	shapes *shapes
	kinds  []*kindTexts
}

// kindTexts are the texts of one kind's objects. They are dense, so that a scrape copies them with one
// memmove.
type kindTexts struct {
	kind     fact.Kind
	families []header
	listed   bool          // all objects are known
	places   map[uid]int32 // the index of an object
	objects  []object
	uids     []uid // parallel to objects
}

// uid is an object's UID in 16 bytes. A string would take 52.
type uid [16]byte

// uidOf returns a UUID's bytes. The UIDs of Kubernetes are UUIDs; of any other text it returns a hash.
func uidOf(text string) (u uid) {
	if parsed, err := uuid.Parse(text); err == nil {
		return uid(parsed)
	}
	hash := sha256.Sum256([]byte(text))
	return uid(hash[:])
}

// header is the name and help of a family.
type header struct{ name, help string }

// NewTexts returns the texts of no objects yet. It accepts nil, and then never has any families.
func NewTexts(g *Generators) *Texts {
	t := &Texts{}
	if g == nil {
		return t
	}
	t.shapes = g.shapes
	for _, kind := range g.Kinds() {
		k := &kindTexts{kind: kind, places: map[uid]int32{}}
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
			k.relist(u.Rendered)
		}
	}
	for i := range u.Rendered {
		r := &u.Rendered[i]
		for _, k := range t.kinds {
			if k.kind != r.Kind {
				continue
			}
			if r.Gone {
				k.remove(uidOf(r.UID))
			} else {
				k.set(uidOf(r.UID), t.shapes.decode(r.Text))
			}
		}
	}
}

// relist forgets all objects, and makes room for those of a list.
func (k *kindTexts) relist(list []fact.Rendered) {
	n := 0
	for i := range list {
		if list[i].Kind == k.kind {
			n++
		}
	}
	k.listed = true
	k.places, k.objects, k.uids = make(map[uid]int32, n), make([]object, 0, n), make([]uid, 0, n)
}

func (k *kindTexts) set(u uid, o object) {
	if place, known := k.places[u]; known {
		k.objects[place] = o
		return
	}
	k.places[u] = int32(len(k.objects))
	k.objects, k.uids = append(k.objects, o), append(k.uids, u)
}

// remove moves the last object to the place of the removed one.
func (k *kindTexts) remove(u uid) {
	place, known := k.places[u]
	if !known {
		return
	}
	last := len(k.objects) - 1
	k.objects[place], k.uids[place] = k.objects[last], k.uids[last]
	k.places[k.uids[place]] = place
	k.objects[last] = object{}
	k.objects, k.uids = k.objects[:last], k.uids[:last]
	delete(k.places, u)
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

// Moment copies 24 bytes an object. It is empty until the objects of all kinds are known.
func (t *Texts) Moment() (m Moment) {
	if t.Complete() != nil {
		return m
	}
	for _, k := range t.kinds {
		m.kinds = append(m.kinds, kindTexts{families: k.families, objects: slices.Clone(k.objects)})
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
		for n := range k.objects {
			var more bool
			if line, more = k.objects[n].eachLine(i, line, yield); !more {
				return
			}
		}
	}
}
