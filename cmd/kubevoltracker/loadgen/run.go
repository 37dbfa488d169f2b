package loadgen

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// UsageError is a mistake in the options that the user has to correct. Its text names the flag.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }

func (e UsageError) Unwrap() error { return e.Err }

// runner is one run.
type runner struct {
	*cluster
	planned  planned
	maker    maker
	account  *account
	observer *observer
	progress *progress

	mu       sync.Mutex
	made     map[objectKey]string // the UID of the last object that was made under a name, until its deletion was asked for
	changes  int
	refused  int
	skipped  int
	troubles int // requests that failed one after another
	fatal    error
	stop     context.CancelFunc
}

// mostTroubles is how many requests may fail one after another before a run gives up: the API server is gone, or
// forbids what the run needs.
const mostTroubles = 50

// Run makes storage churn until the duration is over, or ctx ends; then it cleans up. Once abort ends, it ends at once,
// and its error says what is left.
func Run(ctx, abort context.Context, o Options) error {
	if err := o.validate(); err != nil {
		return UsageError{err}
	}
	if o.Run == "" {
		o.Run = strconv.FormatInt(time.Now().UnixMilli(), 36) + utilrand.String(3) // runs may start at once
	}
	c, err := connect(o.Kubeconfig, o.Context)
	if err != nil {
		return UsageError{err}
	}
	ns, err := guard(ctx, c.client, c.host)
	if err != nil {
		return err
	}
	r := &runner{cluster: c, planned: planned{Options: o}, made: map[objectKey]string{}, account: newAccount(o.Account)}
	r.maker = maker{names: names(o.Run), namespace: Namespace, root: metav1.OwnerReference{APIVersion: "v1", Kind: "Namespace", Name: ns.Name, UID: ns.UID}}
	r.observer = newObserver(r.maker.names, r.account)
	if err := r.survey(ctx); err != nil {
		return err
	}
	return r.run(ctx, abort)
}

// run makes the owner of all objects, observes, carries out the plan, cleans up, and ends the account.
func (r *runner) run(ctx, abort context.Context) error {
	system, err := r.client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the namespace %s: %w", metav1.NamespaceSystem, err)
	}
	if err := r.makeOwner(ctx); err != nil {
		return err
	}
	ctx, r.stop = context.WithCancel(ctx)
	defer r.stop()
	r.observer.onLost = r.fail
	o := &r.planned.Options
	r.account.write(&Line{At: time.Now(), Action: Began, Namespace: Namespace, Plan: &PlanLine{Run: o.Run, Cluster: string(system.UID), Profile: o.Profile,
		Seed: o.Seed, Volumes: o.Volumes, Claims: o.Claims, Pods: o.Pods, Rate: o.Rate, Duration: o.Duration.String()}})
	var watches sync.WaitGroup
	watching, stopWatching := context.WithCancel(abort)
	defer stopWatching()
	if err := r.observer.start(watching, r.client, &watches); err != nil {
		return errors.Join(err, r.removeOwner(abort)) // nothing else was made
	}
	r.progress = newProgress(o)
	seconds := r.carryOut(ctx, abort)
	if o.Cleanup {
		err = r.cleanUp(abort)
	}
	time.Sleep(settle)
	stopWatching()
	watches.Wait()
	totals := TotalsLine{Changes: r.changes, Refused: r.refused, Skipped: r.skipped, Seconds: seconds, Rate: float64(r.changes) / seconds, Left: r.observer.living()}
	r.account.write(&Line{At: time.Now(), Action: Ended, Totals: &totals})
	r.progress.end(&totals)
	return errors.Join(r.fatal, err, r.account.flush())
}

// settle is how long the watches may lag behind the last answer of the API server.
const settle = time.Second

// makeOwner creates the owner of what the run makes in the namespace: whoever deletes it deletes that.
func (r *runner) makeOwner(ctx context.Context) error {
	owner, err := r.client.CoreV1().ConfigMaps(Namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: r.maker.full("owner"), Labels: r.maker.labels()},
		Data:       map[string]string{"purpose": "owns what a run of kubevoltracker loadgen has made"},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create the owner of the run's objects: %w", err)
	}
	r.maker.owner = metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, BlockOwnerDeletion: ptr.To(false)}
	return nil
}

// removeOwner deletes the owner of what the run made.
func (r *runner) removeOwner(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if err := r.remove(ctx, ownerKind, r.maker.owner.Name, string(r.maker.owner.UID), false); err != nil {
		return fmt.Errorf("delete the owner of the run's objects: %w", err)
	}
	return nil
}

// carryOut carries out the plan until the duration is over or ctx ends, and returns how many seconds that took.
func (r *runner) carryOut(ctx, abort context.Context) float64 {
	o := &r.planned.Options
	ctx, cancel := context.WithTimeout(ctx, o.Duration)
	defer cancel()
	began := time.Now()
	d := &dispatcher{runner: r, limiter: rate.NewLimiter(rate.Limit(o.Rate), max(1, int(o.Rate/20))), abort: abort}
	var reporting sync.WaitGroup
	reporting.Go(func() { r.report(ctx, began) })
	d.dispatch(ctx, newPlan(r.planned))
	cancel()
	reporting.Wait()
	return time.Since(began).Seconds()
}

// report shows the progress and passes the lines on, once a second.
func (r *runner) report(ctx context.Context, began time.Time) {
	for tick := time.NewTicker(time.Second); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
			if err := r.account.flush(); err != nil {
				r.fail(fmt.Errorf("write the account: %w", err))
			}
			r.mu.Lock()
			changes, refused := r.changes, r.refused
			r.mu.Unlock()
			r.progress.show(changes, refused, r.observer.living(), time.Since(began))
		}
	}
}

// fail ends the run with an error.
func (r *runner) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fatal == nil {
		r.fatal = err
	}
	r.stop()
}

// cluster is the connection to the API server.
type cluster struct {
	client kubernetes.Interface
	host   string
	meta   metaClient
}
