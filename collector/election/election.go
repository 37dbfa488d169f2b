// Package election decides which of several trackers of a cluster writes the catalog: the one that
// has a Lease of the API server.
//
// Client-go's leader election runs the election. This package adds a fence for a leader that has
// lost the lease and does not know it yet, because it was stopped or disconnected: a term ends by
// this machine's own clock, renewDeadline after the last renewal began, whether or not the elector
// is running, and that is before another tracker can take the lease. It also keeps what a new
// leader needs to know of the former one: its name, and the time on its clock.
//
// A tracker that has lost the lease stands by, and keeps taking part in the election.
package election

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcoordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Another tracker notices that the leader is gone up to two pauses after the lease has expired,
// each of up to 2.2 times retryPeriod: 18.6 s after the leader's last renewal at most.
const (
	leaseDuration = 12 * time.Second
	renewDeadline = 8 * time.Second
	retryPeriod   = 1500 * time.Millisecond
)

// Anybody who may write the Lease can write anything into it, and the API server checks little: a Lease made by hand
// need not have a renewTime. So this package believes a Lease only within these bounds.
const (
	// clocksApart is by how much the clocks of two trackers may differ: an hour, as in package ingest. A renewTime that
	// is further ahead is no tracker's.
	clocksApart = time.Hour
	// longestLease is the longest leaseDurationSeconds that is waited for: a minute, five times ours, because a later
	// version may take longer leases. With 2,147,483,647 seconds nobody would lead for 68 years.
	longestLease = time.Minute
	// longestInstance is the longest name of a tracker, in bytes. A journal's ID has 26.
	longestInstance = 64
)

// Options name the lease, and the tracker that takes it.
type Options struct {
	Leases          typedcoordination.LeasesGetter
	Namespace, Name string
	// Instance is this tracker's permanent, unique name: after a restart the tracker continues its
	// own lease at once.
	Instance string
	Logger   log.Logger
}

// Election is the state of the election as this tracker knows it. Use New.
type Election struct {
	options  Options
	identity string
	now      func() time.Time

	mu      sync.Mutex
	changed chan struct{}
	term    context.Context // nil while another tracker leads, or none
	end     context.CancelFunc
	renewed time.Time // when the last successful renewal began
	expiry  *time.Timer
	former  string    // the instance that led before, or leads now
	until   time.Time // by its own clock, when its lease expires; zero if that is unknown
	ignored time.Time // when an implausible lease was last logged
}

// New returns an Election that does not take part yet.
func New(o Options) *Election {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return &Election{options: o, identity: host + "_" + o.Instance, now: time.Now, changed: make(chan struct{})}
}

// Check returns nil if this tracker can take the lease, now or once it gets the right to, or an error of one line that
// names the cure.
func Check(ctx context.Context, o Options) error {
	leases := o.Leases.Leases(o.Namespace)
	what := fmt.Sprintf("--leader-election: the lease %s/%s", o.Namespace, o.Name)
	_, err := leases.Get(ctx, o.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = leases.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}},
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	}
	switch {
	case err == nil || apierrors.IsAlreadyExists(err):
		return nil
	case apierrors.IsForbidden(err):
		level.Warn(o.Logger).Log("msg", "a right is missing: this tracker stands by, and writes no catalog, until it may use the lease", "lease", o.Namespace+"/"+o.Name, "hint", leaseHint, "err", err)
		return nil
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s has no namespace to be in: make it, or name another one by --leader-election.namespace: %w", what, err)
	default:
		return fmt.Errorf("%s: %w", what, err)
	}
}

// leaseHint is the cure for a refused request for the lease.
const leaseHint = "grant it, as deploy/rbac.yaml or `helm upgrade` with the chart's values does, or name the namespace that it is granted in by --leader-election.namespace"

// Run takes part in the election until ctx ends, and then releases the lease.
func (e *Election) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: &lock{election: e, Interface: &resourcelock.LeaseLock{
				LeaseMeta: metav1.ObjectMeta{Namespace: e.options.Namespace, Name: e.options.Name}, Client: e.options.Leases,
				LockConfig: resourcelock.ResourceLockConfig{Identity: e.identity},
			}},
			LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod, ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: e.lost},
		})
		if err != nil {
			return fmt.Errorf("--leader-election: %w", err)
		}
		elector.Run(ctx)
	}
	return nil
}

// Held returns a context that ends with this tracker's lease; nil while it has none.
func (e *Election) Held() context.Context {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.term != nil && e.over() {
		e.stop("its time is over")
	}
	return e.term
}

// over reports whether the lease has not been renewed for too long, by the clock that stands still
// while the machine is suspended, or by the wall clock. The caller has mu.
func (e *Election) over() bool {
	now := e.now()
	return now.Sub(e.renewed) > renewDeadline || now.Round(0).Sub(e.renewed.Round(0)) > renewDeadline
}

// Former returns the other tracker that has the lease, or had it last: its instance, empty if there
// is none, and when, by its own clock, it must have stopped; zero if its lease does not say so plausibly.
func (e *Election) Former() (instance string, until time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.former, e.until
}

// Changed returns a channel that is closed when the term begins or ends.
func (e *Election) Changed() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.changed
}

// won records that the lease was taken or renewed by a request that began at begun. A term that had
// expired by then does not continue: while this process was paused, another tracker may have led
// and stopped. The writer must take over from that tracker.
func (e *Election) won(begun time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.term != nil && e.over() {
		e.stop("its time is over")
	}
	e.renewed = begun
	if e.over() {
		return // the answer came too late
	}
	left := renewDeadline - e.now().Sub(begun)
	if e.term != nil {
		e.expiry.Reset(left)
		return
	}
	e.term, e.end = context.WithCancel(context.Background())
	e.expiry = time.AfterFunc(left, func() { e.Held() })
	e.wake()
	level.Info(e.options.Logger).Log("msg", "leading: this tracker writes the catalog now", "lease", e.options.Namespace+"/"+e.options.Name, "identity", e.identity)
}

// lost ends the term after the elector reports that the lease is lost.
func (e *Election) lost() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.term != nil {
		e.stop("it is lost")
	}
}

// stop ends the term. The caller has mu.
func (e *Election) stop(why string) {
	e.end()
	e.expiry.Stop()
	e.term = nil
	e.wake()
	level.Info(e.options.Logger).Log("msg", "standing by: this tracker no longer has the lease", "why", why, "identity", e.identity)
}

// wake wakes all goroutines that wait for a change. The caller has mu.
func (e *Election) wake() {
	close(e.changed)
	e.changed = make(chan struct{})
}

// saw records the content of the lease. It ignores a time or a name that no tracker has written, and logs that.
func (e *Election) saw(record *resourcelock.LeaderElectionRecord) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if record.HolderIdentity == e.identity {
		return
	}
	if e.plausible(record.RenewTime.Time) {
		e.until = record.RenewTime.Add(leaseDuration)
	} else {
		e.ignore(record, "renewTime", "it is absent, or more than an hour ahead of this machine's clock: set the clocks of the trackers' nodes")
	}
	if record.HolderIdentity == "" {
		return // the lease was released
	}
	i := strings.LastIndexByte(record.HolderIdentity, '_')
	if instance := record.HolderIdentity[i+1:]; i >= 0 && isInstance(instance) {
		e.former = instance
	} else {
		e.ignore(record, "holderIdentity", "it is no tracker's: name a lease that nobody else writes by --leader-election.lease")
	}
}

// plausible reports whether a tracker can have written a time into the lease: after 1970, and not too far ahead.
func (e *Election) plausible(t time.Time) bool {
	return t.Unix() > 0 && !t.After(e.now().Add(clocksApart))
}

// isInstance reports whether a text can be the name of a tracker: short, and of letters and digits.
func isInstance(text string) bool {
	return text != "" && len(text) <= longestInstance && strings.IndexFunc(text, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0
}

// ignore logs, at most once a minute, which field of the lease is ignored. The caller has mu.
func (e *Election) ignore(record *resourcelock.LeaderElectionRecord, field, why string) {
	now := e.now()
	if !e.ignored.IsZero() && now.Sub(e.ignored) < time.Minute {
		return
	}
	e.ignored = now
	holder := record.HolderIdentity[:min(len(record.HolderIdentity), longestInstance)]
	level.Warn(e.options.Logger).Log("msg", "the lease's "+field+" is ignored", "why", why, "lease", e.options.Namespace+"/"+e.options.Name,
		"holder", holder, "renew_time", record.RenewTime.UTC().Format(time.RFC3339))
}

// bounded returns the record as the elector may believe it. The elector waits as long as LeaseDurationSeconds says,
// and writes LeaderTransitions + 1 as an int32, which the API server refuses if it is negative.
func (e *Election) bounded(record resourcelock.LeaderElectionRecord) *resourcelock.LeaderElectionRecord {
	record.LeaseDurationSeconds = max(0, min(record.LeaseDurationSeconds, int(longestLease/time.Second)))
	if record.LeaderTransitions < 0 || record.LeaderTransitions >= math.MaxInt32 {
		record.LeaderTransitions = 0
	}
	if !e.plausible(record.AcquireTime.Time) {
		record.AcquireTime = metav1.Time{}
	}
	return &record
}

// lock informs the Election of each request for the lease and its result.
type lock struct {
	resourcelock.Interface
	election *Election
	said     time.Time // when a failure was last logged
}

func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err != nil {
		return nil, nil, l.failed(err)
	}
	l.election.saw(record)
	return l.election.bounded(*record), raw, nil
}

func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.put(ctx, record, l.Interface.Create)
}

func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.put(ctx, record, l.Interface.Update)
}

func (l *lock) put(ctx context.Context, record resourcelock.LeaderElectionRecord, do func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	begun := l.election.now()
	err := do(ctx, record)
	if err == nil && record.HolderIdentity == l.Identity() {
		l.election.won(begun)
	}
	return l.failed(err)
}

// failed logs an error, at most once in a while, unless the error is a normal part of an election.
func (l *lock) failed(err error) error {
	expected := err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || errors.Is(err, context.Canceled)
	if now := l.election.now(); !expected && now.Sub(l.said) > time.Minute {
		l.said = now
		keys := []any{"msg", "the request for the lease failed; retrying", "lease", l.Describe(), "err", err}
		if apierrors.IsForbidden(err) {
			keys = append(keys, "hint", leaseHint)
		}
		level.Warn(l.election.options.Logger).Log(keys...)
	}
	return err
}

// Register exports whether this tracker, which has a catalog, writes it: e has the lease, or e is nil, because
// there is no election.
func Register(reg prometheus.Registerer, e *Election) {
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "kubevoltracker_leader",
		Help: "1 if this tracker is the one that writes the catalog, 0 if it stands by. Absent without a catalog.",
	}, func() float64 {
		if e == nil || e.Held() != nil {
			return 1
		}
		return 0
	}))
}
