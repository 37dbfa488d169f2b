package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// stageGrace is how long the parts of a stage may take to stop before the next stage is stopped as
// well: the recorder and the writer take up to five seconds for their last rows. lastGrace is how
// long the parts that still run may take after that. Four stages fit into the 30 s that a pod has.
const (
	stageGrace = 6 * time.Second
	lastGrace  = 2 * time.Second
)

// part is a part of the tracker that runs until its context ends.
type part struct {
	name string
	run  func(context.Context) error
}

// stage is a set of parts that are stopped together, once those of the stage before have ended.
type stage []part

// runStages runs all parts until ctx ends or one of them fails, and then stops them stage by stage. A part
// may end early without an error. It returns the errors of all parts, and names those that did not stop.
// oklog/run and errgroup stop all parts at once, and wait for each of them without a limit.
func runStages(ctx context.Context, stages []stage) error {
	return runStagesWithin(ctx, stages, stageGrace)
}

func runStagesWithin(ctx context.Context, stages []stage, grace time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	var failures []error
	running := map[string]bool{}
	for _, p := range slices.Concat(stages...) {
		running[p.name] = true
	}

	stops := make([]context.CancelFunc, len(stages))
	ended := make([]chan struct{}, len(stages))
	for i, s := range stages {
		stageCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
		defer stop()
		stops[i], ended[i] = stop, make(chan struct{})
		var parts sync.WaitGroup
		for _, p := range s {
			parts.Go(func() {
				err := p.run(stageCtx)
				mu.Lock()
				defer mu.Unlock()
				delete(running, p.name)
				if err != nil {
					failures = append(failures, err)
					cancel()
				}
			})
		}
		go func() { parts.Wait(); close(ended[i]) }()
	}

	<-ctx.Done()
	for i, stop := range stops {
		stop()
		patience, cancelPatience := context.WithTimeout(context.WithoutCancel(ctx), grace)
		await(patience, ended[i])
		cancelPatience()
	}
	last, cancelLast := context.WithTimeout(context.WithoutCancel(ctx), lastGrace)
	defer cancelLast()
	for i := range ended { // a part may have waited for a later stage
		await(last, ended[i])
	}
	mu.Lock()
	defer mu.Unlock()
	for name := range running {
		failures = append(failures, fmt.Errorf("the %s did not stop in time", name))
	}
	return errors.Join(failures...)
}

func await(ctx context.Context, ended <-chan struct{}) {
	select {
	case <-ended:
	case <-ctx.Done():
	}
}
