package election

import (
	"testing"
	"time"

	"github.com/go-kit/log"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
