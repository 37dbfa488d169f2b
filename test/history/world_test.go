package history

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

const gib = int64(1) << 30

// hostile are texts that SQL, parameters and formats may stumble over. They have no slash, which no name in Kubernetes has.
var hostile = []string{
	`it's "quoted"`, `back\slash\'`, "tab\tand\nlines\r", "日本語-ñ-🙂", `\N`, "NULL", "';DROP TABLE mounts--", "%s{}$1{x:String}", "`tick`",
	strings.Repeat("x", 253), "-", "0", "[]", " blank ", "no\uFFFEcharacter\uFFFF",
}

// world is a cluster that the generator plays. The model in it is what a tracker can know.
type world struct {
	model
	rnd     *rand.Rand
	clock   fact.Time
	tracker *tracker

	saysUnused bool // its API server has the condition Unused
	watched    bool
	gapSince   fact.Time // since when nobody watches; 0 before the first tracker
	steps      int       // of the gap that are left
	serial     int
	annotated  map[string]string // the texts of annotations that name owners, by how a tracker shows the owner
	names      struct{ namespaces, claims, pods, volumes, classes, owners, groups, workloads, paths []string }
}

func newWorld(cluster string, rnd *rand.Rand, t *tracker) *world {
	w := &world{rnd: rnd, tracker: t, annotated: map[string]string{}, clock: fact.At(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}
	w.cluster = cluster
	some := func(n int, plain ...string) []string {
		for range n {
			plain = append(plain, hostile[rnd.IntN(len(hostile))])
		}
		slices.Sort(plain)
		return slices.Compact(plain)
	}
	w.names.namespaces = some(1, "shop", "lab")
	w.names.claims = some(2, "data", "logs", "data-db-0", "data-web-1", "data-db-1")
	w.names.pods = some(2, "web-0", "db-0", "db-1", "job-x")
	w.names.volumes = some(2, "pv-a", "pv-b", "pv-c")
	w.names.classes = some(1, "fast", "slow", "")
	for _, owner := range some(3, "ann", "bob", "", "", "of a/b", "nul\x00byte") {
		w.annotated[oneLine(owner)] = owner
		w.names.owners = append(w.names.owners, oneLine(owner))
	}
	for _, workload := range some(1, "db", "web") {
		w.names.workloads = append(w.names.workloads, oneLine(workload))
	}
	w.names.paths = some(2, "data", "var/lib/x")
	w.names.groups = []string{"", "web", "web,data", "data", `it's,"b"`, `back\slash`, "日本,web"}
	w.model.namespaces = w.names.namespaces
	w.classes = slices.DeleteFunc(slices.Clone(w.names.classes), func(class string) bool { return class == "" }) // which is none
	w.makeCapacities()
	return w
}

// oneLine is how a tracker shows an owner or the name of a controller: no control character is left.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}

// pick returns a random one of a list; the zero value of an empty list.
func pick[T any](w *world, list []T) (one T) {
	if len(list) > 0 {
		one = list[w.rnd.IntN(len(list))]
	}
	return one
}

// any returns a random one of those in a list that pass, or nil.
func any1[T any](w *world, list []*T, passes func(*T) bool) *T {
	var some []*T
	for _, x := range list {
		if passes(x) {
			some = append(some, x)
		}
	}
	return pick(w, some)
}

func (w *world) chance(percent int) bool { return w.rnd.IntN(100) < percent }

func (w *world) uid(kind string) string {
	w.serial++
	return fmt.Sprintf("%s-%d", kind, w.serial)
}

// tick moves the clock, so that no two events are in one second.
func (w *world) tick() fact.Time {
	w.clock += second
	return w.clock
}

// play makes a history that ends before now.
func (w *world) play(steps int) {
	w.makeNodes()
	stop := now() - 600*second
	w.steps = 25 // before the first tracker
	for i := range steps {
		left := int64(stop-w.clock) / int64(steps-i)
		next := w.clock + fact.Time(w.rnd.Int64N(max(1, 2*left)))/second*second + second
		if next >= stop-1000*second {
			break
		}
		w.clock = next
		if i < steps-70 {
			w.step()
		} else {
			w.step(w.rush()...)
		}
		if w.watched && w.chance(3) {
			w.look(false)
		} else if w.steps--; !w.watched && w.steps <= 0 {
			w.look(true)
		}
	}
	w.tick()
	if !w.watched {
		w.look(true)
	}
	w.spans[len(w.spans)-1][1] = now()
}

// look makes the tracker look away, or look again.
func (w *world) look(watched bool) {
	w.tick()
	w.watched = watched
	if watched {
		w.seeAll()
		w.spans = append(w.spans, [2]fact.Time{w.clock, 0})
		return
	}
	w.gapSince = w.clock
	w.spans[len(w.spans)-1][1] = w.clock
	w.steps = 1 + w.rnd.IntN(12)
}

// action is something that can happen.
type action struct {
	weight int
	do     func() bool
}

// rush is what happens in the last steps: pods come, wait for each other, and few of them start.
func (w *world) rush() []action {
	return []action{{50, w.makePod}, {16, w.deletePod}, {4, w.startPod}, {20, w.failToAttach}, {3, w.askClaim}, {4, w.endPod}, {4, w.changeNode}, {4, w.provision}}
}

// step lets one of the usual things happen, or of some others, if it can.
func (w *world) step(others ...action) {
	for range 20 {
		actions := []action{
			{14, w.makeClaim}, {14, w.provision}, {4, w.makeVolume}, {9, w.bind}, {5, w.expand}, {12, w.deleteClaim}, {5, w.freeVolume}, {4, w.deleteVolume},
			{8, w.bindAgain}, {24, w.makePod}, {28, w.startPod}, {5, w.restart}, {8, w.endContainer}, {10, w.endPod}, {16, w.deletePod}, {8, w.measure}, {1, w.loseVolume}, {4, w.giveAway}, {8, w.changeNode}, {4, w.askClaim}, {6, w.failToAttach}, {5, w.detach},
		}
		if others != nil {
			actions = others
		}
		total := 0
		for _, a := range actions {
			total += a.weight
		}
		n := w.rnd.IntN(total)
		for _, a := range actions {
			if n -= a.weight; n < 0 {
				if a.do() {
					return
				}
				break
			}
		}
	}
}

// free reports whether what happens to an object now will be known: of two changes while nobody watches, the first may
// leave no trace.
func (w *world) free(touched bool) bool { return w.watched || !touched }

func (w *world) size() int64 { return (1 + w.rnd.Int64N(20)) * gib }

func (w *world) groups() []string {
	if list := pick(w, w.names.groups); list != "" {
		return strings.Split(list, ",")
	}
	return nil
}

// newSource returns a backing store: a new one, one that a volume had before, or one that pods name themselves.
func (w *world) newSource() source {
	if old := pick(w, w.volumes); old != nil && w.chance(15) {
		return old.source
	}
	if w.chance(3) {
		return inlineShare
	}
	w.serial++
	switch w.rnd.IntN(4) {
	case 0:
		return source{kind: "nfs", server: pick(w, []string{"nfs.example.com", "10.0.0.1", "::1"}), path: fmt.Sprint("/export/", pick(w, w.names.paths), w.serial)}
	case 1:
		return source{kind: "local", path: fmt.Sprint("/mnt/", pick(w, w.names.paths), w.serial)}
	}
	return source{kind: "csi", driver: "ebs.csi.aws.com", path: fmt.Sprint("vol-", strings.TrimSpace(pick(w, hostile)), w.serial)}
}
