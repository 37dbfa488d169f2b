package collector

import (
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// againAfter is how long a failed watch waits before it retries: 0.5 s, up to 5 s. The reflector's
// own pauses grow to a minute, and after a restart of the API server the events in between would be
// lost. One tracker with one watch per kind is little load.
var againAfter = wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 100, Cap: 5 * time.Second}

// watch lists and watches one kind until the context ends.
func (c *Collector) watch(ctx context.Context, r resource) {
	before := c.before(r.kind)
	s := &store{
		collector: c, kind: r.kind, resource: r.resource, ctx: ctx, logger: log.With(c.logger, "kind", r.kind),
		resumeAt: before.ResourceVersion, behind: before.ResourceVersion != "", lastSeen: before.At, since: before.Since,
	}
	lw := listWatch{r.listWatch, s, r.example}
	s.currentVersion = lw.currentVersion
	defer s.end()
	s.relist = func(after string) { s.begin(func() { c.relist(ctx, r, after) }) }
	c.addStore(s)
	c.metrics.seen(r.kind, before.At)
	// A streamed list works without the right to list, which an interruption needs. This request shows early if it is missing.
	s.background.Go(func() {
		_, _ = lw.currentVersion(ctx) // notes the right
		s.awaitListRight()
	})
	cache.NewReflectorWithOptions(lw, r.example, s, cache.ReflectorOptions{
		Name:            "kubevoltracker",
		TypeDescription: string(r.kind),
		Backoff:         &againAfter,
	}).RunWithContext(ctx)
}

// listWatch informs the store about each request and its result. It trims each page of a list as
// the page arrives: an API server that cannot stream a list sends pages, and the reflector collects
// all of them before it calls the store.
//
// For a store that resumes, listWatch lists nothing: it gives the reflector an empty list at the
// version where the watch resumes, and the store ignores that list.
type listWatch struct {
	*cache.ListWatch
	store   *store
	example runtime.Object
}

func (l listWatch) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if at := l.store.resumeAt; at != "" {
		l.store.resumed()
		return &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: at}}, nil
	}
	if options.Continue == "" {
		l.store.listing()
	}
	list, err := l.ListWatch.ListWithContext(ctx, options)
	l.store.noteRight("list", err)
	if err != nil {
		l.store.listFailed(err)
		return nil, err
	}
	return list, meta.EachListItem(list, func(obj runtime.Object) error {
		l.store.drawing.draw(obj)
		l.store.trim(obj)
		return nil
	})
}

func (l listWatch) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if l.store.resumeAt != "" && options.SendInitialEvents != nil {
		w, err := l.resume(ctx, options)
		if w != nil || err != nil {
			return w, err
		}
	}
	listing := options.SendInitialEvents != nil // the watch streams a whole list first
	if err := l.store.stillBroken(listing); err != nil {
		return nil, err
	}
	if listing {
		l.store.listing()
	}
	w, err := l.open(ctx, options)
	switch {
	case listing && apierrors.IsInvalid(err):
		level.Debug(l.store.logger).Log("msg", "the API server does not stream lists, asking for pages", "err", err)
		return nil, err
	case listing && err != nil:
		l.store.listFailed(err)
		return nil, err
	case err != nil:
		l.store.failed(err)
		return nil, l.store.again(err)
	}
	if l.store.refused {
		l.store.up()
	}
	var restored <-chan watch.Event
	if !listing {
		restored = l.store.opened(options.ResourceVersion)
	}
	return l.store.guard(w, listing, restored), nil
}

// open opens a watch. After ten retries that end by EOF, reset or timeout, client-go returns an empty watch and no error. Open returns an
// error then: an empty watch looks as if the API server had granted a watch and closed it.
func (l listWatch) open(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	w, err := l.ListWatch.WatchWithContext(ctx, options)
	if err == nil && reflect.TypeOf(w) == reflect.TypeOf(watch.NewEmptyWatch()) {
		w, err = nil, errors.New("the API server did not answer")
	}
	l.store.noteRight("watch", err)
	return w, err
}

// currentVersion returns the API server's current version, as that of package scope does.
func (l listWatch) currentVersion(ctx context.Context) (uint64, error) {
	version, err := currentVersion(ctx, l.ListWatch)
	l.store.noteRight("list", err)
	return version, err
}

// currentVersion returns the API server's current version, at the cost of one object; zero if the answer
// has none.
func currentVersion(ctx context.Context, lw *cache.ListWatch) (uint64, error) {
	list, err := lw.ListWithContext(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return 0, err
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return 0, nil //nolint:nilerr // an answer that is no list has no version
	}
	return fact.VersionNumber(accessor.GetResourceVersion()), nil
}

// resume opens a watch where an earlier tracker's watch ended, instead of a streamed list. It
// returns nil if the API server no longer has that version.
func (l listWatch) resume(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	at := l.store.resumeAt
	options.SendInitialEvents, options.ResourceVersionMatch, options.ResourceVersion = nil, "", at
	w, err := l.open(ctx, options)
	switch {
	case isExpired(err):
		l.store.resumeAt = ""
		level.Info(l.store.logger).Log("msg", "the API server no longer has the events since then, listing", "err", err)
		return nil, nil
	case err != nil:
		l.store.failed(err)
		return nil, l.store.again(err)
	}
	end := l.example.DeepCopyObject()
	accessor, err := meta.Accessor(end)
	if err != nil {
		return nil, err
	}
	accessor.SetResourceVersion(at)
	accessor.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	l.store.resumed()
	return prepended(l.store.guard(w, false, l.store.opened(at)), watch.Event{Type: watch.Bookmark, Object: end}), nil
}

// guard returns w for the reflector, so that an end of w costs no position. The reflector lists anew after most errors in a stream, and
// after a watch that ends without an event within a second of its first read, which may be long after w was opened. Instead it receives
// TooManyRequests: it pauses, and then requests a watch at its version. WatchWithContext treats the error in the stream as if that request
// had failed (stillBroken). The same goes for a list that is streamed first and is cut off: the reflector would request it anew without a
// pause. Guard passes on the errors of such a list, after which the reflector lists in pages. The error on restored ends w, too.
func (s *store) guard(w watch.Interface, listing bool, restored <-chan watch.Event) watch.Interface {
	events := make(chan watch.Event)
	p := watch.NewProxyWatcher(events)
	go func() {
		defer close(events)
		defer w.Stop()
		began, early := time.Now(), true // early: before the first event after the list, if there is one
		for {
			event, open := watch.Event{}, true
			select {
			case event, open = <-w.ResultChan():
			case event = <-restored:
			case <-p.StopChan():
				return
			}
			switch {
			case !listing && mayGoOn(event) || !open && early:
				s.broken = breakOf(event, listing, time.Since(began))
				event = watch.Event{Type: watch.Error, Object: &apierrors.NewTooManyRequests("the watch broke", 0).ErrStatus}
			case !open:
				return
			}
			select {
			case events <- event:
			case <-p.StopChan():
				return
			}
			if event.Type == watch.Error {
				return
			}
			early = listing
			if listing && endsList(event) {
				listing, began = false, time.Now()
			}
		}
	}()
	return p
}

// breakOf returns why a watch broke: by an error, which is its last event, or because it was closed while it streamed its list or within a
// second. It returns nil for a watch that was closed later, as the API server does every few minutes.
func breakOf(last watch.Event, listing bool, lasted time.Duration) error {
	switch {
	case last.Type == watch.Error:
		return apierrors.FromObject(last.Object)
	case listing:
		return errors.New("the list that the API server streamed was cut off")
	case lasted < time.Second:
		return errors.New("the API server closed the watch at once")
	default:
		return nil
	}
}

// mayGoOn reports whether an event is an error after which another watch may go on at the same version.
func mayGoOn(event watch.Event) bool {
	return event.Type == watch.Error && !isExpired(apierrors.FromObject(event.Object))
}

// isExpired reports whether the API server no longer has the events since a version.
func isExpired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// endsList reports whether an event is the bookmark that ends a streamed list.
func endsList(event watch.Event) bool {
	if event.Type != watch.Bookmark {
		return false
	}
	o, err := meta.Accessor(event.Object)
	return err == nil && o.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}

// prepended returns a watch that delivers first before all other events.
func prepended(w watch.Interface, first watch.Event) watch.Interface {
	events := make(chan watch.Event)
	p := watch.NewProxyWatcher(events)
	go func() {
		defer close(events)
		defer w.Stop()
		event, open := first, true
		for open {
			select {
			case events <- event:
			case <-p.StopChan():
				return
			}
			select {
			case event, open = <-w.ResultChan():
			case <-p.StopChan():
				return
			}
		}
	}()
	return p
}
