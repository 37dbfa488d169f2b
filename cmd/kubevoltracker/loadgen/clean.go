package loadgen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// cleaning deletes what a run has made. It knows an object by its label and its owner.
type cleaning struct {
	*cluster
	names  names
	owners map[types.UID]bool // the run's own objects: what they own is the run's
	byName bool               // the run's owner is gone: what belonged to an object with a name of the run is the run's
}

// cleanOrder is the order of deletion: owners before the objects that they create.
var cleanOrder = []string{SetKind, JobKind, PodKind, ClaimKind, VolumeKind}

// atOnce bounds the deletions under way.
const atOnce = 16

// cleanTime bounds a cleanup.
const cleanTime = 2 * time.Minute

// Clean deletes what runs have left: that of one run, or of all. It reports to out.
func Clean(ctx context.Context, kubeconfig, contextName, run string, out io.Writer) error {
	c, err := connect(kubeconfig, contextName)
	if err != nil {
		return UsageError{err}
	}
	ns, err := guard(ctx, c.client, c.host)
	if err != nil {
		return err
	}
	runs, err := c.runs(ctx, run, ns.UID)
	if err != nil {
		return fmt.Errorf("list the runs: %w", err)
	}
	if len(runs) == 0 {
		fmt.Fprintln(out, "nothing is left of any run")
	}
	for _, id := range slices.Sorted(maps.Keys(runs)) {
		owner := runs[id]
		k := &cleaning{cluster: c, names: id, owners: map[types.UID]bool{ns.UID: true}, byName: owner == nil}
		if owner != nil {
			k.owners[owner.UID] = true
		}
		left, err := k.all(ctx)
		if err != nil {
			return err
		}
		if owner != nil {
			err := c.remove(ctx, ownerKind, owner.Name, string(owner.UID), false)
			if err != nil && !isGone(err) {
				return fmt.Errorf("delete %s: %w", owner.Name, err)
			}
		}
		fmt.Fprintf(out, "run %s: %d objects left\n", id, left)
	}
	return nil
}

// runs returns the runs of which something is left, with their owners in the namespace; nil for a run whose owner was
// deleted: garbage collection then deletes what is in the namespace, in its own time. If run is not empty, the other runs
// are left out.
func (c *cluster) runs(ctx context.Context, run string, root types.UID) (map[names]*metav1.PartialObjectMetadata, error) {
	selector := Label
	if run != "" {
		selector += "=" + run
	}
	found := map[names]*metav1.PartialObjectMetadata{}
	for _, kind := range slices.Concat(cleanOrder, []string{ownerKind}) {
		list, err := c.meta.of(kind).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			object := &list.Items[i]
			id := names(object.Labels[Label])
			switch { // other objects with the label are somebody else's
			case kind == ownerKind && object.Name == id.full("owner"):
				found[id] = object
			case id.ofTemplate(kind, object), kind == VolumeKind && isOwnedBy(object, root), id.ownedByName(object):
				found[id] = nil
			}
		}
	}
	return found, nil
}

// isGone reports whether an object could not be deleted because it is gone: there is none, or another of its name.
func isGone(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsConflict(err) }

func isOwnedBy(object metav1.Object, owner types.UID) bool {
	return slices.ContainsFunc(object.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == owner })
}

// cleanUp deletes all of the run, and waits until the watches have seen it go. Its error says how many objects are left.
func (r *runner) cleanUp(ctx context.Context) error {
	r.progress.say("deleting what was made")
	k := &cleaning{cluster: r.cluster, names: r.maker.names, owners: map[types.UID]bool{r.maker.owner.UID: true, r.maker.root.UID: true}}
	left, err := k.all(ctx)
	if err == nil {
		err = r.removeOwner(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for err == nil && r.observer.lost() == nil && r.observer.living() > 0 && sleep(ctx, 50*time.Millisecond) {
	}
	if r.observer.lost() == nil { // otherwise the lists alone know what is left
		left = r.observer.living()
	}
	if left > 0 || err != nil {
		err = errors.Join(err, fmt.Errorf("%d objects of the run are left in the cluster; remove them by: kubevoltracker loadgen clean --run=%s", left, r.maker.names))
	}
	return err
}

// all deletes the run's objects until none is left, and returns how many are left at the end of its time.
func (k *cleaning) all(ctx context.Context) (left int, err error) {
	ctx, cancel := context.WithTimeout(ctx, cleanTime)
	defer cancel()
	for {
		left = 0
		for _, kind := range cleanOrder {
			n, err := k.kind(ctx, kind)
			if err != nil {
				return left, err
			}
			left += n
		}
		if left == 0 {
			return 0, nil
		}
		if !sleep(ctx, 300*time.Millisecond) {
			return left, fmt.Errorf("%d objects are still being deleted after %s: kubectl -n %s get all,pvc,pv -l %s=%s", left, cleanTime, Namespace, Label, k.names)
		}
	}
}

// kind deletes the run's objects of a kind, and returns how many there were.
func (k *cleaning) kind(ctx context.Context, kind string) (n int, err error) {
	list, err := k.meta.of(kind).List(ctx, metav1.ListOptions{LabelSelector: Label + "=" + string(k.names)})
	if err != nil {
		return 0, fmt.Errorf("list %s to delete: %w", kind, err)
	}
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i := range list.Items {
		object := &list.Items[i]
		if !k.isOurs(kind, object) {
			continue
		}
		n++
		k.owners[object.UID] = true
		if object.DeletionTimestamp == nil {
			group.Go(func() error {
				err := k.remove(ctx, kind, object.Name, string(object.UID), false)
				if isGone(err) {
					return nil
				}
				return err
			})
		}
	}
	return n, group.Wait()
}

// isOurs reports whether an object with the run's label was made by the run, or by a controller for it.
func (k *cleaning) isOurs(kind string, object *metav1.PartialObjectMetadata) bool {
	if kind == VolumeKind && !k.names.has(object.Name) {
		return false // somebody has given it the label, and the namespace, which is anybody's, as its owner
	}
	for _, owner := range object.OwnerReferences {
		if k.owners[owner.UID] {
			return true
		}
	}
	return k.names.ofTemplate(kind, object) || k.byName && k.names.ownedByName(object)
}
