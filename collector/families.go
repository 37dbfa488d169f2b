package collector

import (
	"context"
	"slices"
	"strings"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// Renderer makes the text of metric families of an object (exporter/statemetrics). The collector calls Render for
// each object of Kinds before it trims the object, and keeps nothing of it but the text. Several goroutines call it.
type Renderer interface {
	Kinds() []fact.Kind
	Render(kind fact.Kind, object any) string
}

// families passes texts of metric families on with the updates. The collector's lock guards it.
//
// The texts are made of whole objects, so they cannot come from the inventory, whose objects are trimmed. A watch that
// resumes from the position of an earlier run lists nothing, and shows only the objects that change. So relist lists
// each such kind once more, for the texts alone. The inventory does not see that list: it takes the replayed events.
// A list at version L contains all events up to L, so events up to L are ignored once the list has come, and those
// that came before it are applied to it if they are newer.
type families struct {
	kinds    map[fact.Kind]*familiesOf
	rendered []fact.Rendered // since the last update
	relisted []fact.Kind
}

// familiesOf is the state of one kind.
type familiesOf struct {
	listed  bool                 // a list has come, or the kind may not be listed
	version uint64               // of that list
	newer   map[string]versioned // by UID: events that came while a list is awaited; nil if none is
}

type versioned struct {
	fact.Rendered
	version uint64
}

func newFamilies(r Renderer) families {
	f := families{kinds: map[fact.Kind]*familiesOf{}}
	if r != nil {
		for _, kind := range r.Kinds() {
			f.kinds[kind] = &familiesOf{}
		}
	}
	return f
}

// await notes that a list of the kind will come.
func (f *families) await(kind fact.Kind) {
	if k := f.kinds[kind]; k != nil {
		k.newer = map[string]versioned{}
	}
}

// change notes an event.
func (f *families) change(r fact.Rendered, version uint64) {
	k := f.kinds[r.Kind]
	switch {
	case k == nil:
	case k.newer != nil:
		k.newer[r.UID] = versioned{r, version}
	case version > k.version || version == 0:
		f.rendered = append(f.rendered, r)
	}
}

// list notes the texts of all objects of a kind at a version.
func (f *families) list(kind fact.Kind, texts map[string]string, version uint64) {
	k := f.kinds[kind]
	if k == nil {
		return
	}
	if texts == nil {
		texts = map[string]string{}
	}
	for uid, event := range k.newer {
		switch {
		case event.version <= version && event.version != 0:
		case event.Gone:
			delete(texts, uid)
		default:
			texts[uid] = event.Text
		}
	}
	*k = familiesOf{listed: true, version: version}
	f.relisted = append(f.relisted, kind)
	f.rendered = slices.DeleteFunc(f.rendered, func(r fact.Rendered) bool { return r.Kind == kind })
	f.rendered = slices.Grow(f.rendered, len(texts))
	for uid, text := range texts {
		f.rendered = append(f.rendered, fact.Rendered{Kind: kind, UID: uid, Text: text})
	}
}

// unlisted takes a kind that the tracker may not list as one without objects, unless it was listed before. A list that
// is awaited may still come.
func (f *families) unlisted(kind fact.Kind) {
	if k := f.kinds[kind]; k != nil && !k.listed {
		k.listed = true
		f.relisted = append(f.relisted, kind)
	}
}

// take moves the texts into an update.
func (f *families) take(u *fact.Update) {
	u.Rendered, u.Relisted = f.rendered, f.relisted
	f.rendered, f.relisted = nil, nil
}

// renders reports whether the kind has families. It needs no lock: the map's keys never change.
func (c *Collector) renders(kind fact.Kind) bool { return c.families.kinds[kind] != nil }

// drawing gathers the texts of a list's objects while they arrive.
type drawing struct {
	kind   fact.Kind
	render func(fact.Kind, any) string
	texts  map[string]string // by UID; nil if the kind has no families
}

// begin forgets the objects of an earlier list that was not received to its end.
func (d *drawing) begin(c *Collector, kind fact.Kind) {
	*d = drawing{}
	if c.renders(kind) {
		*d = drawing{kind, c.renderer.Render, map[string]string{}}
	}
}

// draw renders an object of the list.
func (d *drawing) draw(object any) {
	if o, ok := object.(metav1.Object); ok && d.texts != nil {
		d.texts[strings.Clone(string(o.GetUID()))] = d.render(d.kind, object)
	}
}

// of returns the texts of the objects in the complete list, without those that were deleted while the list streamed in.
func (d *drawing) of(objects []any) map[string]string {
	if d.texts == nil {
		return nil
	}
	texts := make(map[string]string, len(objects))
	for _, object := range objects {
		uid := uidOf(object)
		if text, drawn := d.texts[uid]; drawn {
			texts[uid] = text
		}
	}
	d.texts = nil
	return texts
}

// uidOf returns the UID of an object as trimming and packing leave it; the string is its own.
func uidOf(object any) string {
	switch o := object.(type) {
	case *packed:
		return o.uid
	case metav1.Object:
		return string(o.GetUID())
	case string:
		return o
	default:
		return ""
	}
}

// event renders the object of an event. The caller notes it under the lock.
func (c *Collector) event(kind fact.Kind, object any, gone bool) (r fact.Rendered, version uint64) {
	o, ok := object.(metav1.Object)
	if !ok || !c.renders(kind) {
		return r, 0
	}
	r = fact.Rendered{Kind: kind, UID: strings.Clone(string(o.GetUID())), Gone: gone}
	if !gone {
		r.Text = c.renderer.Render(kind, object)
	}
	return r, fact.VersionNumber(o.GetResourceVersion())
}

// relist lists a kind once, for its families alone: streamed, or from the API server's cache, as a watch lists. It
// retries until it succeeds, another list of the kind has come, or the context ends.
func (c *Collector) relist(ctx context.Context, r resource, after string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &familiesStore{collector: c, kind: r.kind, done: cancel}
	lw := familiesList{r.listWatch, s, after, log.With(c.logger, "kind", r.kind)}
	backoff := againAfter
	cache.NewReflectorWithOptions(lw, r.example, s, cache.ReflectorOptions{
		Name:            "kubevoltracker-families",
		TypeDescription: string(r.kind),
		Backoff:         &backoff,
	}).RunWithContext(ctx)
}

// familiesStore takes the list of relist, and then ends its reflector.
type familiesStore struct {
	drawing   drawing
	collector *Collector
	kind      fact.Kind
	done      func()
}

var (
	_ cache.ReflectorStore    = (*familiesStore)(nil)
	_ cache.TransformingStore = (*familiesStore)(nil)
)

// Replace passes the list on, unless another one has come.
func (s *familiesStore) Replace(objects []any, resourceVersion string) error {
	defer s.done()
	texts := s.drawing.of(objects)
	c := s.collector
	return c.observeFamilies(func() {
		if c.families.kinds[s.kind].newer != nil {
			c.families.list(s.kind, texts, fact.VersionNumber(resourceVersion))
		}
	})
}

// Transformer returns a function that renders each object as it streams in, and keeps only its UID.
func (s *familiesStore) Transformer() cache.TransformFunc {
	return func(object any) (any, error) {
		s.drawing.draw(object)
		return strings.Clone(uidOf(object)), nil
	}
}

// The reflector's watch may deliver events until it has ended. The kind's own watch takes them.

func (s *familiesStore) Add(any) error    { return nil }
func (s *familiesStore) Update(any) error { return nil }
func (s *familiesStore) Delete(any) error { return nil }
func (s *familiesStore) Resync() error    { return nil }

// familiesList renders each page of a list as it arrives.
type familiesList struct {
	*cache.ListWatch
	store  *familiesStore
	after  string // the list must be at least as new: the kind's watch resumes from there
	logger log.Logger
}

func (l familiesList) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if options.Continue == "" {
		l.store.drawing.begin(l.store.collector, l.store.kind)
	}
	if options.ResourceVersion == "0" { // the cache may be older than the position
		options.ResourceVersion, options.ResourceVersionMatch, options.Limit = l.after, metav1.ResourceVersionMatchNotOlderThan, 0
	}
	list, err := l.ListWatch.ListWithContext(ctx, options)
	if err != nil {
		return nil, l.failed(ctx, err)
	}
	return list, meta.EachListItem(list, func(object runtime.Object) error {
		l.store.drawing.draw(object)
		Trim(l.store.collector.policy, l.store.kind, object)
		return nil
	})
}

func (l familiesList) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	l.store.drawing.begin(l.store.collector, l.store.kind)
	w, err := l.ListWatch.WatchWithContext(ctx, options)
	return w, l.failed(ctx, err)
}

// failed logs why a request failed; the reflector retries it. A kind that may not be listed costs no other kind's
// families: it counts as one without objects until a list succeeds.
func (l familiesList) failed(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	level.Debug(l.logger).Log("msg", "the list for kube-state-metrics' families failed", "err", err)
	if refused(err) {
		c := l.store.collector
		if err := c.observeFamilies(func() { c.families.unlisted(l.store.kind) }); err != nil {
			level.Error(l.logger).Log("msg", "kube-state-metrics' families could not be shown without a kind", "err", err)
		}
	}
	return err
}
