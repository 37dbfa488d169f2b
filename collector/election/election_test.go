package election

import (
	"bytes"
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-kit/log"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// clocked returns an election whose clock a test sets.
func clocked(t *testing.T) (e *Election, now *time.Time) {
	e = New(Options{Namespace: "ns", Name: "lease", Instance: "me", Logger: log.NewLogfmtLogger(t.Output())})
	start := time.Unix(1000, 0)
	e.now = func() time.Time { return start }
	return e, &start
}

func TestATermEndsByItsOwnClock(t *testing.T) {
	e, now := clocked(t)
	changed := e.Changed()
	if e.Held() != nil {
		t.Fatal("nobody was elected")
	}
	e.won(*now)
	<-changed
	term := e.Held()
	if term == nil {
		t.Fatal("not leading")
	}
	*now = now.Add(renewDeadline)
	if e.Held() != term {
		t.Error("it is not over yet")
	}
	e.won(*now)
	*now = now.Add(renewDeadline)
	if e.Held() != term {
		t.Error("it was renewed")
	}
	*now = now.Add(time.Millisecond) // stopped, and woken up too late: nobody has said anything
	if e.Held() != nil || term.Err() == nil {
		t.Error("it is over")
	}
	e.won(now.Add(-renewDeadline - time.Second))
	if e.Held() != nil {
		t.Error("an answer that comes too late is none")
	}
	e.won(*now)
	if again := e.Held(); again == nil || again == term {
		t.Error("a new term")
	}
	e.lost()
	if e.Held() != nil {
		t.Error("it was lost")
	}
	e.lost() // as when it was never held
}

// TestAPauseEndsATerm stops the process in a term for longer than the term lasts. Whoever is the
// first to run afterwards, nobody takes the term for one that goes on: neither a writer that
// asks, nor an elector that renews the lease before anybody has asked.
func TestAPauseEndsATerm(t *testing.T) {
	const pause = renewDeadline + time.Second
	for name, first := range map[string]func(e *Election, begun, woken time.Time){
		"the writer": func(e *Election, _, _ time.Time) { e.Held() },
		"the elector, by a request that began in time":     func(e *Election, begun, _ time.Time) { e.won(begun) },
		"the elector, by a request that begins afterwards": func(e *Election, _, woken time.Time) { e.won(woken) },
	} {
		t.Run(name, func(t *testing.T) {
			e, now := clocked(t)
			e.won(*now)
			term, changed := e.Held(), e.Changed()
			begun := now.Add(time.Second - time.Millisecond)
			*now = now.Add(time.Second + pause)
			first(e, begun, *now)
			if term.Err() == nil {
				t.Error("the term goes on")
			}
			select {
			case <-changed:
			default:
				t.Error("nobody is told")
			}
			if e.Held() == term {
				t.Error("the term is taken up again")
			}
		})
	}
}

func TestWhatTheLeaseSaysOfTheFormer(t *testing.T) {
	e, now := clocked(t)
	if instance, until := e.Former(); instance != "" || !until.IsZero() {
		t.Errorf("%q %s", instance, until)
	}
	see := func(holder string, renewed time.Time) {
		e.saw(&resourcelock.LeaderElectionRecord{HolderIdentity: holder, RenewTime: metav1.NewTime(renewed)})
	}
	renewed := now.Add(time.Hour) // by a clock that is ahead
	see("host_a_them", renewed.Add(-time.Second))
	see("host_a_them", renewed)
	see("", renewed) // given back
	see(e.identity, *now)
	if instance, until := e.Former(); instance != "them" || !until.Equal(renewed.Add(leaseDuration)) {
		t.Errorf("%q until %s", instance, until)
	}
}

// TestAnImplausibleLeaseIsIgnored has a tracker lead; then somebody writes the Lease by hand.
func TestAnImplausibleLeaseIsIgnored(t *testing.T) {
	day := 24 * time.Hour
	huge := strings.Repeat("x", 1<<20)
	for name, test := range map[string]struct {
		holder  string
		renewed time.Duration // from now; 0 for none
		former  string        // that is believed
		until   bool          // whether the renewTime is believed
		logged  string
	}{
		"a tracker's":                {"host_other", -time.Second, "other", true, ""},
		"an old one":                 {"host_other", -300 * day, "other", true, ""},
		"of a clock that is ahead":   {"host_other", time.Hour, "other", true, ""},
		"without a renewTime":        {"host_other", 0, "other", false, "renewTime is ignored"},
		"renewed in the far future":  {"host_other", 200 * 365 * day, "other", false, "renewTime is ignored"},
		"renewed tomorrow":           {"host_other", day, "other", false, "renewTime is ignored"},
		"renewed before 1970":        {"host_other", -100 * 365 * day, "other", false, "renewTime is ignored"},
		"of nobody":                  {"", -time.Second, "them", true, ""},
		"of a person":                {"alice", -time.Second, "them", true, "holderIdentity is ignored"},
		"of an endless holder":       {huge, -time.Second, "them", true, "holderIdentity is ignored"},
		"of an endless tracker":      {"host_" + huge, -time.Second, "them", true, "holderIdentity is ignored"},
		"of one with a strange name": {"host_'); DROP", -time.Second, "them", true, "holderIdentity is ignored"},
		"of one without a name":      {"host_", -time.Second, "them", true, "holderIdentity is ignored"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			e := New(Options{Namespace: "ns", Name: "lease", Instance: "me", Logger: log.NewLogfmtLogger(&out)})
			now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
			e.now = func() time.Time { return now }
			before := now.Add(-time.Minute)
			e.saw(&resourcelock.LeaderElectionRecord{HolderIdentity: "host_them", RenewTime: metav1.NewTime(before)})
			var renewed time.Time
			if test.renewed != 0 {
				renewed = now.Add(test.renewed)
			}
			record := &resourcelock.LeaderElectionRecord{HolderIdentity: test.holder, RenewTime: metav1.NewTime(renewed)}
			e.saw(record)
			e.saw(record) // logs nothing more
			want := before.Add(leaseDuration)
			if test.until {
				want = renewed.Add(leaseDuration)
			}
			if former, until := e.Former(); former != test.former || !until.Equal(want) {
				t.Errorf("%.80q until %s, want %q until %s", former, until, test.former, want)
			}
			if lines := strings.Count(out.String(), "\n"); lines != min(1, len(test.logged)) || !strings.Contains(out.String(), test.logged) || out.Len() > 500 {
				t.Errorf("%d lines, %d bytes: %.500s", lines, out.Len(), &out)
			}
		})
	}
}

// TestNoLeaseStopsTheElection has trackers find Leases that the API server lets everybody write who may write Leases.
// The fake server refuses what the real one does.
func TestNoLeaseStopsTheElection(t *testing.T) {
	pointer := func(n int32) *int32 { return &n }
	holder, far := "somebody", metav1.NewMicroTime(time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC))
	huge := strings.Repeat("x", 1<<20)
	beyond := metav1.NewMicroTime(time.Unix(math.MaxInt64/2, 0)) // protobuf can say it, and JSON cannot
	for name, test := range map[string]struct {
		spec   coordinationv1.LeaseSpec
		within time.Duration
	}{
		"an empty one":         {coordinationv1.LeaseSpec{}, time.Second},
		"held for ever":        {coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: pointer(math.MaxInt32), RenewTime: &far, AcquireTime: &far}, longestLease + 5*time.Second},
		"held for less than 0": {coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: pointer(math.MinInt32)}, time.Second},
		"the last transition":  {coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseTransitions: pointer(math.MaxInt32)}, time.Second},
		"transitions below 0":  {coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseTransitions: pointer(-7)}, time.Second},
		"a megabyte of holder": {coordinationv1.LeaseSpec{HolderIdentity: &huge}, time.Second},
		"times beyond years":   {coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &beyond, AcquireTime: &beyond}, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lease"}, Spec: test.spec})
				client.PrependReactor("update", "leases", func(action clienttesting.Action) (bool, runtime.Object, error) {
					lease := action.(clienttesting.UpdateAction).GetObject().(*coordinationv1.Lease)
					if _, err := lease.Marshal(); err != nil || *lease.Spec.LeaseTransitions < 0 || *lease.Spec.LeaseDurationSeconds <= 0 {
						return true, nil, apierrors.NewBadRequest("invalid")
					}
					return false, nil, nil
				})
				e := New(Options{Leases: client.CoordinationV1(), Namespace: "ns", Name: "lease", Instance: "me", Logger: log.NewLogfmtLogger(t.Output())})
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error)
				go func() { done <- e.Run(ctx) }()
				time.Sleep(test.within)
				if e.Held() == nil {
					t.Error("it does not lead")
				}
				if _, until := e.Former(); !until.IsZero() {
					t.Errorf("it believes that somebody leads until %s", until)
				}
				cancel()
				if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		})
	}
}
