package app

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// recorded notes in which order parts stop.
type recorded struct {
	mu   sync.Mutex
	list []string
}

func (r *recorded) part(name string, ends error) part {
	return part{name, func(ctx context.Context) error {
		<-ctx.Done()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.list = append(r.list, name)
		return ends
	}}
}

func TestStagesStopInOrder(t *testing.T) {
	var r recorded
	ctx, cancel := context.WithCancel(t.Context())
	early := part{"early", func(context.Context) error { cancel(); return nil }}
	if err := runStages(ctx, []stage{{r.part("first", nil), early}, {r.part("second", nil)}, {r.part("third", nil)}}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"first", "second", "third"}; !slices.Equal(r.list, want) {
		t.Errorf("stopped %v, want %v", r.list, want)
	}
}

func TestAPartThatFailsStopsAll(t *testing.T) {
	var r recorded
	broken, unwell := errors.New("broken"), errors.New("unwell")
	fails := part{"fails", func(context.Context) error { return broken }}
	err := runStages(t.Context(), []stage{{r.part("first", nil)}, {fails}, {r.part("third", unwell)}})
	if !errors.Is(err, broken) || !errors.Is(err, unwell) {
		t.Errorf("got %v", err)
	}
	if want := []string{"first", "third"}; !slices.Equal(r.list, want) {
		t.Errorf("stopped %v, want %v", r.list, want)
	}
}

// TestAPartMayWaitForALaterStage: the collector does, while the journal is full.
func TestAPartMayWaitForALaterStage(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	freed := make(chan struct{})
	waits := part{"waits", func(context.Context) error { <-freed; return nil }}
	frees := part{"frees", func(ctx context.Context) error { <-ctx.Done(); close(freed); return nil }}
	if err := runStagesWithin(ctx, []stage{{waits}, {frees}}, time.Millisecond); err != nil {
		t.Error(err)
	}
}

func TestAPartThatDoesNotStopIsNamed(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	forever := make(chan struct{})
	defer close(forever)
	stuck := part{"stuck part", func(context.Context) error { <-forever; return nil }}
	err := runStagesWithin(ctx, []stage{{stuck}}, time.Millisecond)
	if err == nil || err.Error() != "the stuck part did not stop in time" {
		t.Errorf("got %v", err)
	}
}

// TestTwoPartsThatDoNotStop are in two stages: the stop is bounded all the same, and both are named.
func TestTwoPartsThatDoNotStop(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	forever := make(chan struct{})
	defer close(forever)
	stuck := func(name string) part { return part{name, func(context.Context) error { <-forever; return nil }} }
	done := make(chan error, 1)
	go func() {
		done <- runStagesWithin(ctx, []stage{{stuck("collector")}, {stuck("recorder")}}, time.Millisecond)
	}()
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), "the collector did not stop") || !strings.Contains(err.Error(), "the recorder did not stop") {
			t.Errorf("got %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("runStages has not returned")
	}
}
