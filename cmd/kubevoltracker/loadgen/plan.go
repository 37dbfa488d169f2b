package loadgen

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"
)

// Actions of steps, and of the lines of an account.
const (
	Create  = "create"
	Delete  = "delete"
	Resize  = "resize"  // a claim asks for more
	Relabel = "relabel" // a pod, job or claim gets another owner
	Release = "release" // a volume's claimRef is cleared
	Reclaim = "reclaim" // a volume's claimRef is set to another claim
	Scale   = "scale"
)

// Kinds of objects.
const (
	VolumeKind = "PersistentVolume"
	ClaimKind  = "PersistentVolumeClaim"
	PodKind    = "Pod"
	JobKind    = "Job"
	SetKind    = "StatefulSet"
)

// wait is what a step waits for, for a while, before it is carried out. A creation always waits until its name is free.
type wait string

const (
	waitNothing  wait = ""
	waitBound    wait = "bound"    // the claim is bound
	waitRunning  wait = "running"  // the pod has started
	waitEnded    wait = "ended"    // the pod, or the job's pods, have ended
	waitReleased wait = "released" // the volume's claim is gone
)

// Step is one change that the plan asks for. Names lack the prefix of the run.
type Step struct {
	At     time.Duration // when, in the plan's time
	Cell   int           // steps of one cell follow each other
	Action string
	Kind   string
	Name   string
	Wait   wait

	Source   string // of a volume: its kind of storage
	Dynamic  bool   // of a claim or set: volumes come from the cluster's StorageClass
	Volume   string // of a claim: the volume that it asks for by name
	Claim    string // of a pod: its claim; of Reclaim: the volume's next claim
	Scratch  bool   // of a pod: it has a generic ephemeral volume, too
	Seconds  int    // of a pod or job: it ends after so long
	GiB      int    // of a volume, a claim, or Resize
	Replicas int    // of a set
	Reap     bool   // of a set: its claims are deleted with it
	Owner    string // of Relabel
	Force    bool   // of Delete: without grace
}

// planned are the numbers that a plan depends on, besides the cluster's storage.
type planned struct {
	Options
	dynamic bool // the cluster makes volumes for claims
	expands bool // and lets them grow
}

// plan is an endless sequence of steps, in the order of the plan's time. Two plans of the same numbers are equal.
type plan struct{ cells cellHeap }

// setSize is the largest number of replicas of a set.
const setSize = 3

// newPlan distributes volumes, claims and pods over cells. A cell is a place for one claim, or one set, with its
// volumes and pods. The first cells have volumes made by hand, the others those of the cluster's StorageClass.
func newPlan(o planned) *plan {
	p := &plan{}
	shape := profiles[o.Profile]
	kinds := o.staticKinds()
	volumes, claims, pods := o.Volumes, o.Claims, o.Pods
	each := 1
	if shape.sets {
		each = setSize
	}
	places := max(1, (claims+each-1)/each)
	podsEach, podsMore := pods/places, pods%places
	for i := 0; volumes > 0 || claims > 0 || (i == 0 && pods > 0); i++ {
		c := &cell{id: i, profile: shape, options: &o, random: rand.New(rand.NewPCG(o.Seed, uint64(i)))} //nolint:gosec // a plan is to be repeated
		c.volumes = min(volumes, each)
		c.claims = min(claims, each)
		if volumes -= c.volumes; c.volumes > 0 {
			c.source = kinds[i%len(kinds)]
		}
		claims -= c.claims
		c.pods = podsEach
		if podsMore > 0 {
			c.pods++
			podsMore--
		}
		if i >= places {
			c.pods = 0
		}
		c.now = time.Duration(c.random.Float64() * float64(shape.pod.median))
		c.refill()
		p.cells = append(p.cells, c)
	}
	heap.Init(&p.cells)
	return p
}

// next returns the next step.
func (p *plan) next() Step {
	c := p.cells[0]
	s := c.steps[0]
	if c.steps = c.steps[1:]; len(c.steps) == 0 {
		c.refill()
	}
	heap.Fix(&p.cells, 0)
	return s
}

// cellHeap has the cell with the earliest step first.
type cellHeap []*cell

func (h cellHeap) Len() int { return len(h) }

func (h cellHeap) Less(i, j int) bool {
	if a, b := h[i].steps[0].At, h[j].steps[0].At; a != b {
		return a < b
	}
	return h[i].id < h[j].id
}

func (h cellHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push is not used: cells neither come nor go.
func (h *cellHeap) Push(x any) { *h = append(*h, x.(*cell)) }

// Pop is not used either.
func (h *cellHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// name returns a name in the cell. The same names are used again and again.
func (c *cell) name(what string) string { return fmt.Sprintf("%d-%s", c.id, what) }
