package loadgen

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"
)

// observer watches a run's pods and claims, and the volumes that are the run's or its claims'. It writes each state to
// the account, and knows the last one.
type observer struct {
	names   names
	account *account

	mu   sync.Mutex
	last map[objectKey]*observed // the last object of each name
	err  error                   // a watch was lost

	onLost func(error) // is called when a watch was lost: the account has a hole
}

type objectKey struct{ kind, name string }

// observed is the last state of an object.
type observed struct {
	uid   string
	gone  bool
	phase string
	job   string
	text  string // as it was written: to write no state twice
}

func newObserver(n names, a *account) *observer {
	return &observer{names: n, account: a, last: map[objectKey]*observed{}}
}

// start begins to watch. The watches end with ctx; wait for done after that.
func (o *observer) start(ctx context.Context, client kubernetes.Interface, done *sync.WaitGroup) error {
	core := client.CoreV1()
	ours := Label + "=" + string(o.names)
	for _, kind := range []struct {
		name, selector string
		list           func(context.Context, metav1.ListOptions) (metav1.ListInterface, error)
		watch          func(context.Context, metav1.ListOptions) (watch.Interface, error)
	}{
		{PodKind, ours, func(ctx context.Context, l metav1.ListOptions) (metav1.ListInterface, error) {
			return core.Pods(Namespace).List(ctx, l)
		}, core.Pods(Namespace).Watch},
		{ClaimKind, ours, func(ctx context.Context, l metav1.ListOptions) (metav1.ListInterface, error) {
			return core.PersistentVolumeClaims(Namespace).List(ctx, l)
		}, core.PersistentVolumeClaims(Namespace).Watch},
		{VolumeKind, "", func(ctx context.Context, l metav1.ListOptions) (metav1.ListInterface, error) {
			return core.PersistentVolumes().List(ctx, l)
		}, core.PersistentVolumes().Watch},
	} {
		list, err := kind.list(ctx, metav1.ListOptions{LabelSelector: kind.selector, Limit: 1})
		if err != nil {
			return fmt.Errorf("list: %w", err)
		}
		w, err := toolswatch.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), &cache.ListWatch{
			WatchFuncWithContext: func(ctx context.Context, l metav1.ListOptions) (watch.Interface, error) {
				l.LabelSelector = kind.selector
				return kind.watch(ctx, l)
			}})
		if err != nil {
			return fmt.Errorf("watch: %w", err)
		}
		done.Go(func() { o.follow(ctx, kind.name, w) })
	}
	return nil
}

// follow takes the events of one watch.
func (o *observer) follow(ctx context.Context, kind string, w watch.Interface) {
	for event := range w.ResultChan() {
		if event.Type == watch.Error {
			o.lose(kind, apierrors.FromObject(event.Object))
			return
		}
		object, ok := event.Object.(metav1.Object)
		if ok && (event.Type == watch.Added || event.Type == watch.Modified || event.Type == watch.Deleted) {
			o.take(kind, object, event.Type == watch.Deleted)
		}
	}
	if ctx.Err() == nil {
		o.lose(kind, errors.New("the watch ended"))
	}
}

// lose notes that a watch has lost events.
func (o *observer) lose(kind string, err error) {
	o.account.write(&Line{At: time.Now(), Action: Lost, Kind: kind, Error: err.Error()})
	err = fmt.Errorf("the watch of %s was lost: %w; the account proves nothing", kind, err)
	o.mu.Lock()
	o.err = errors.Join(o.err, err)
	o.mu.Unlock()
	o.onLost(err)
}

// take notes and writes an object's state, if it is the run's and has changed. An object with the run's label and
// without an owner is somebody else's.
func (o *observer) take(kind string, object metav1.Object, gone bool) {
	if kind != VolumeKind && len(object.GetOwnerReferences()) == 0 && !o.names.ofTemplate(kind, object) {
		return
	}
	line := &Line{Kind: kind, Name: object.GetName(), UID: string(object.GetUID()), Gone: gone}
	state := &observed{uid: line.UID, gone: gone}
	switch x := object.(type) {
	case *corev1.Pod:
		line.Pod = podState(x)
		state.phase, state.job = line.Pod.Phase, line.Pod.Job
	case *corev1.PersistentVolumeClaim:
		line.Claim = claimState(x)
		state.phase = line.Claim.Phase
	case *corev1.PersistentVolume:
		if !o.concerns(x) {
			return
		}
		line.Volume = volumeState(x)
		state.phase = line.Volume.Phase
	}
	text, _ := json.Marshal(line) // a line has texts, numbers and times alone: no error
	state.text = string(text)
	key := objectKey{kind, line.Name}
	o.mu.Lock()
	before := o.last[key]
	o.last[key] = state
	o.mu.Unlock()
	if before != nil && before.text == state.text {
		return
	}
	created := object.GetCreationTimestamp().Time
	line.At, line.Action, line.Namespace = time.Now(), Observed, object.GetNamespace()
	line.ResourceVersion, line.Created = object.GetResourceVersion(), &created
	o.account.write(line)
}

// concerns reports whether a volume is the run's, or one of the run's claims is in its claimRef.
func (o *observer) concerns(v *corev1.PersistentVolume) bool {
	ref := v.Spec.ClaimRef
	return v.Labels[Label] == string(o.names) || ref != nil && ref.Namespace == Namespace && o.names.has(ref.Name)
}

// get returns the last state of the object of a name; nil if there was none.
func (o *observer) get(kind, name string) *observed {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last[objectKey{kind, name}]
}

// lives reports whether an object of a name exists, as far as the watch says.
func (o *observer) lives(kind, name string) bool {
	last := o.get(kind, name)
	return last != nil && !last.gone
}

// living counts the objects that exist.
func (o *observer) living() (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, last := range o.last {
		if !last.gone {
			n++
		}
	}
	return n
}

// jobEnded reports whether a job has made at least one pod, and each of its pods has ended.
func (o *observer) jobEnded(job string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	some, all := false, true
	for key, last := range o.last {
		if key.kind == PodKind && last.job == job && !last.gone {
			some, all = true, all && hasEnded(last)
		}
	}
	return some && all
}

func hasEnded(p *observed) bool {
	return p.gone || p.phase == string(corev1.PodSucceeded) || p.phase == string(corev1.PodFailed)
}

// lost returns the error of a watch that was lost.
func (o *observer) lost() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}
