package loadgen

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
)

// dispatcher carries out the steps of a plan: those of one cell one after another, those of different cells at once.
type dispatcher struct {
	*runner
	limiter *rate.Limiter
	abort   context.Context //nolint:containedctx // of the requests; it outlives the context of dispatch

	mu      sync.Mutex
	queues  map[int][]Step // of the cells at work; a cell that is not in it is idle
	waiting int            // steps in all queues
	workers sync.WaitGroup
}

// backlog bounds the steps that wait for their cell, per cell: the plan's time goes on while a few cells wait for the
// cluster, and stops if all do.
const backlog = 4

// dispatch hands the steps to their cells until ctx ends, and waits for those under way.
func (d *dispatcher) dispatch(ctx context.Context, p *plan) {
	d.queues = map[int][]Step{}
	most := backlog * len(p.cells)
	for ctx.Err() == nil {
		d.mu.Lock()
		full := d.waiting >= most
		d.mu.Unlock()
		if full {
			sleep(ctx, 5*time.Millisecond)
			continue
		}
		d.give(ctx, p.next())
	}
	d.workers.Wait()
}

// give hands a step to its cell.
func (d *dispatcher) give(ctx context.Context, s Step) {
	d.mu.Lock()
	defer d.mu.Unlock()
	queue, busy := d.queues[s.Cell]
	d.queues[s.Cell] = append(queue, s)
	d.waiting++
	if !busy {
		d.workers.Go(func() { d.work(ctx, s.Cell) })
	}
}

// work carries out a cell's steps until it has none.
func (d *dispatcher) work(ctx context.Context, cell int) {
	for {
		d.mu.Lock()
		queue := d.queues[cell]
		if len(queue) == 0 || ctx.Err() != nil {
			delete(d.queues, cell)
			d.mu.Unlock()
			return
		}
		s := queue[0]
		d.queues[cell] = queue[1:]
		d.waiting--
		d.mu.Unlock()
		d.step(ctx, &s)
	}
}

// step waits for what a step waits for, and for its turn, and carries it out.
func (d *dispatcher) step(ctx context.Context, s *Step) {
	if s.Action != Create && d.target(s) == "" {
		d.skip()
		return
	}
	d.await(ctx, s)
	if d.limiter.Wait(ctx) != nil {
		return // the run ends before its turn
	}
	d.request(d.abort, s)
}

// patience bounds how long a step waits for the cluster; then it is carried out all the same. In a busy cluster, too,
// pods are deleted before they have started.
const patience = 10 * time.Second

func (d *dispatcher) await(ctx context.Context, s *Step) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !d.ripe(s) && sleep(ctx, 20*time.Millisecond) {
	}
}

// sleep returns false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// ripe reports whether a step has nothing to wait for.
func (r *runner) ripe(s *Step) bool {
	name := r.maker.full(s.Name)
	if s.Action == Create {
		return r.isFree(s, name)
	}
	if s.Kind == JobKind && s.Wait == waitEnded {
		return r.observer.jobEnded(name)
	}
	if s.Wait == waitNothing || s.Kind == JobKind {
		return true
	}
	last := r.observer.get(s.Kind, name)
	if last == nil || last.uid != r.target(s) {
		return false // not observed yet
	}
	switch s.Wait {
	case waitRunning:
		return last.phase == string(corev1.PodRunning) || hasEnded(last)
	case waitEnded:
		return hasEnded(last)
	case waitBound:
		return last.gone || last.phase == string(corev1.ClaimBound)
	case waitReleased:
		return last.gone || last.phase != string(corev1.VolumeBound)
	}
	return true
}

// isFree reports whether nothing of the run has the name any more, nor, for a set, the names of its pods and claims.
func (r *runner) isFree(s *Step, name string) bool {
	r.mu.Lock()
	made := r.made[objectKey{s.Kind, name}]
	r.mu.Unlock()
	last := r.observer.get(s.Kind, name)
	if made != "" && (last == nil || last.uid != made) {
		return s.Kind == JobKind || s.Kind == SetKind
	}
	if last != nil && !last.gone {
		return false
	}
	for i := 0; s.Kind == SetKind && i < s.Replicas; i++ {
		if r.observer.lives(PodKind, setPod(name, i)) || r.observer.lives(ClaimKind, r.maker.full(setClaim(s.Name, i))) {
			return false
		}
	}
	return true
}

// target returns the UID of the object that a step changes: the last one that the run made, or that a controller made
// for it. It is empty if there is none.
func (r *runner) target(s *Step) string {
	name := r.maker.full(s.Name)
	r.mu.Lock()
	made := r.made[objectKey{s.Kind, name}]
	r.mu.Unlock()
	if last := r.observer.get(s.Kind, name); last != nil && (made == "" || last.uid == made) {
		if last.gone {
			return ""
		}
		return last.uid
	}
	return made
}

func (r *runner) skip() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.skipped++
}
