package loadgen

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// cell is a place for one claim or one set. It plans one tenancy after another: a claim's life with all that happens in
// it, and what becomes of its volume.
type cell struct {
	id      int
	profile profile
	options *planned
	random  *rand.Rand
	source  string // the kind of the volumes made by hand; empty if the volumes come from a StorageClass
	volumes int
	claims  int
	pods    int

	now   time.Duration
	steps []Step
	have  bool // the volumes exist
}

func (c *cell) chance(p float64) bool { return c.random.Float64() < p }

func (c *cell) add(s Step) {
	s.Cell = c.id
	c.steps = append(c.steps, s)
}

// refill plans the next tenancy.
func (c *cell) refill() {
	from := c.now
	end := from + max(time.Second, c.profile.claim.draw(c.random))
	c.makeVolumes(from)
	switch {
	case c.claims == 0 && c.pods == 0:
		c.unclaimed(end)
	case c.claims == 0:
		c.podsOf(from, end, "")
	case c.profile.sets:
		c.set(from, end)
	default:
		c.claim(from, end)
	}
	slices.SortStableFunc(c.steps, func(a, b Step) int { return cmp.Compare(a.At, b.At) })
	c.now = end + max(time.Millisecond, c.profile.pause.draw(c.random))
}

func (c *cell) volume(i int) string { return c.name(fmt.Sprintf("vol-%d", i)) }

// makeVolumes creates the cell's volumes, unless they are left from the last tenancy.
func (c *cell) makeVolumes(at time.Duration) {
	for i := 0; i < c.volumes && !c.have; i++ {
		c.add(Step{At: at, Action: Create, Kind: VolumeKind, Name: c.volume(i), Source: c.source, GiB: c.size()})
	}
	c.have = true
}

// size is a claim's or volume's size. A volume is large enough for any claim.
func (c *cell) size() int { return 1 << c.random.IntN(4) }

// unclaimed: volumes that nobody claims come and go.
func (c *cell) unclaimed(end time.Duration) {
	for i := range c.volumes {
		c.add(Step{At: end, Action: Delete, Kind: VolumeKind, Name: c.volume(i)})
	}
	c.have = false
}

// claim is the life of a claim. Chaos creates its pod before it, or deletes it before its pods.
func (c *cell) claim(from, end time.Duration) {
	name := c.name("claim")
	s := Step{At: from, Action: Create, Kind: ClaimKind, Name: name, Dynamic: c.source == "", GiB: 1}
	if c.source != "" && c.chance(0.5) {
		s.Volume = c.volume(0)
	}
	wrong := c.chance(c.profile.chaos)
	if wrong && c.chance(0.2) {
		s.At += time.Second
	}
	c.add(s)
	remove := Step{At: end, Action: Delete, Kind: ClaimKind, Name: name}
	if wrong {
		c.add(remove) // steps of one time stay in this order: before the last pods are deleted
	}
	c.podsOf(from, end, name)
	c.changes(from, end, name, 1)
	if c.source != "" && c.chance(c.profile.chaos*0.3) {
		c.handOver(end)
	}
	if !wrong {
		c.add(remove)
	}
	if c.source != "" {
		c.release(end, c.volume(0), name)
	}
}

// handOver gives a volume to another claim while the first has it, and deletes that claim.
func (c *cell) handOver(at time.Duration) {
	heir := c.name("heir")
	c.add(Step{At: at, Action: Reclaim, Kind: VolumeKind, Name: c.volume(0), Claim: heir})
	c.add(Step{At: at, Action: Create, Kind: ClaimKind, Name: heir, Volume: c.volume(0), GiB: 1})
	c.add(Step{At: at, Action: Delete, Kind: ClaimKind, Name: heir, Wait: waitBound})
}

// release decides what becomes of a volume after its claim: another claim gets it, the next claim of the name gets it,
// or it is deleted and made again under its name.
func (c *cell) release(at time.Duration, volume, claim string) {
	switch c.random.IntN(3) {
	case 0:
		c.add(Step{At: at, Action: Release, Kind: VolumeKind, Name: volume, Wait: waitReleased})
	case 1:
		c.add(Step{At: at, Action: Reclaim, Kind: VolumeKind, Name: volume, Claim: claim, Wait: waitReleased})
	default:
		s := Step{At: at, Action: Delete, Kind: VolumeKind, Name: volume, Wait: waitReleased}
		if c.chance(c.profile.chaos) {
			s.Wait = waitNothing
		}
		c.add(s)
		c.add(Step{At: at, Action: Create, Kind: VolumeKind, Name: volume, Source: c.source, GiB: c.size()})
	}
}

// changes: a claim grows, if its class permits, and gets other owners.
func (c *cell) changes(from, end time.Duration, claim string, size int) {
	if c.source == "" && c.options.expands && c.chance(c.profile.resize) {
		at := c.during(from, end)
		c.add(Step{At: at, Action: Resize, Kind: ClaimKind, Name: claim, GiB: size + 1 + c.random.IntN(3), Wait: waitBound})
	}
	c.relabel(from, end, ClaimKind, claim)
}

// relabel gives an object other owners in the course of its life.
func (c *cell) relabel(from, end time.Duration, kind, name string) {
	for range c.random.IntN(2*c.profile.relabels + 1) {
		c.add(Step{At: c.during(from, end), Action: Relabel, Kind: kind, Name: name, Owner: owners[c.random.IntN(len(owners))]})
	}
}

// during returns a moment between two others.
func (c *cell) during(from, end time.Duration) time.Duration {
	return from + time.Duration(c.random.Float64()*float64(end-from))
}

// owners are whom pods and claims belong to.
var owners = []string{"ada", "barbara", "grace", "katherine", "margaret"}

// mostPods bounds how many pods of one place follow each other on one claim: of a very long life this is enough.
const mostPods = 12

// podsOf plans the pods that follow each other in each place of the cell.
func (c *cell) podsOf(from, end time.Duration, claim string) {
	for place := range c.pods {
		at := from + time.Duration(place)*time.Second
		for n := 0; n < mostPods && (at < end || n == 0); n++ {
			over := min(end, at+max(time.Second, c.profile.pod.draw(c.random)))
			c.pod(at, max(at, over), claim, place)
			at = over + c.profile.pause.draw(c.random)
		}
	}
}

// pod is the life of a pod. In batch it is a pod or a job that ends by itself.
func (c *cell) pod(from, end time.Duration, claim string, place int) {
	kind, name := PodKind, c.name(fmt.Sprintf("pod-%d", place))
	create := Step{At: from, Action: Create, Claim: claim}
	create.Scratch = c.options.dynamic && slices.Contains(c.options.Kinds, Ephemeral) && (claim == "" || c.chance(0.25))
	remove := Step{At: end, Action: Delete, Wait: waitRunning}
	if c.profile.ends {
		remove.Wait = waitEnded
		create.Seconds = int(min(8, max(1, lognormal{2, 0.8}.draw(c.random))))
		if c.id%2 == 0 {
			kind, name = JobKind, c.name(fmt.Sprintf("job-%d", place))
		}
	}
	if c.chance(c.profile.chaos) {
		remove.Wait = waitNothing
		remove.Force = c.chance(0.7)
	}
	create.Kind, create.Name, remove.Kind, remove.Name = kind, name, kind, name
	c.add(create)
	c.relabel(from, end, kind, name)
	c.add(remove)
}

// set is the life of a StatefulSet with claims from its template.
func (c *cell) set(from, end time.Duration) {
	name := c.name("set")
	size := max(1, min(c.claims, max(c.pods, 1)))
	if c.source != "" {
		size = min(size, c.volumes) // each claim needs one
	}
	reap := c.source == "" && c.chance(0.5)
	c.add(Step{At: from, Action: Create, Kind: SetKind, Name: name, Replicas: size, Dynamic: c.source == "", Reap: reap})
	at := from
	for range mostPods {
		if at += max(time.Second, c.profile.pod.draw(c.random)); at >= end {
			break
		}
		last := fmt.Sprintf("%s-%d", name, size-1)
		if size == 1 || c.chance(0.6) {
			c.add(Step{At: at, Action: Delete, Kind: PodKind, Name: last, Wait: waitRunning})
			continue
		}
		c.add(Step{At: at, Action: Scale, Kind: SetKind, Name: name, Replicas: size - 1})
		at += c.profile.pause.draw(c.random)
		c.add(Step{At: at, Action: Scale, Kind: SetKind, Name: name, Replicas: size})
	}
	for i := range size {
		c.changes(from, end, setClaim(name, i), 1)
		c.relabel(from, end, PodKind, fmt.Sprintf("%s-%d", name, i))
	}
	c.add(Step{At: end, Action: Delete, Kind: SetKind, Name: name})
	for i := 0; i < size && !reap; i++ {
		c.add(Step{At: end, Action: Delete, Kind: ClaimKind, Name: setClaim(name, i)})
	}
	for i := range c.volumes {
		c.release(end, c.volume(i), setClaim(name, i))
	}
}

// setClaim is the name of the claim of a set's pod, without the run's prefix.
func setClaim(set string, i int) string { return fmt.Sprintf("%s%s-%d", templatePrefix, set, i) }

// templatePrefix is what the StatefulSet controller puts before the name of a set's claim.
const templatePrefix = "data-"
