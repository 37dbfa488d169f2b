package soak

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
	"github.com/kubevoltracker/kubevoltracker/test/truth"
)

// runner runs a tracker that is ended and started again on one data directory.
type runner struct {
	t       testing.TB
	c       *harness.LocalCluster
	args    []string
	catalog string // URL of the catalog, if it is not the embedded one
	p       *harness.Tracker
	killed  time.Time // when it was first ended since it last served
	away    truth.Gaps
	starts  int
	lost    bool // the journal was lost, and its counters with it
	failed  bool // its log is shown at the end

	log []map[string]any // of the trackers before p

	dir    string
	server *harness.ClickHouse // of its own
	proxy  *harness.FaultProxy
}

func newRunner(t testing.TB, c *harness.LocalCluster, args ...string) *runner {
	r := &runner{t: t, c: c, args: args}
	t.Cleanup(func() {
		if r.p != nil {
			r.stop()
		}
	})
	return r
}

// launched counts the starts of all trackers.
var launched atomic.Int32

// saved is how long it takes at most until the journal has the present positions of the watches.
const saved = 8 * time.Second

// unsaved is how long an event may take to get into the journal.
const unsaved = 12 * time.Second

// remembered is how old the version may be from which a watch resumes: the API server keeps events for 75 seconds at
// least.
const remembered = 75 * time.Second

// start starts the tracker and does not wait for it.
func (r *runner) start() {
	r.t.Helper()
	r.keepLog()
	r.p = harness.LaunchTracker(r.t, r.c.Kubeconfig, r.args...)
	r.starts++
	launched.Add(1)
}

// serve waits until the tracker is ready and has caught up. The gap since it was last ended ends here.
func (r *runner) serve() {
	r.t.Helper()
	r.p.AwaitServing(r.t)
	if r.catalog != "" {
		r.p.Catalog = r.catalog
	}
	harness.Eventually(r.t, "the tracker is ready", func() error {
		if status, body, err := r.p.Get("/readyz?verbose"); err != nil || status != 200 {
			return fmt.Errorf("%d %s %w", status, body, err)
		}
		return nil
	})
	if !r.killed.IsZero() {
		was := truth.Gap{From: r.killed.Add(-unsaved)}
		r.awaitCaughtUp()
		was.To = time.Now().Add(5 * time.Second)
		if time.Since(was.From) > remembered {
			r.t.Logf("what came and went from %s to %s may be unknown: the API server need not remember it", was.From.Format(time.TimeOnly), was.To.Format(time.TimeOnly))
			was.Lossy = true
		}
		r.away = append(r.away, was)
		r.killed = time.Time{}
	}
}

// awaitCaughtUp waits until the catalog has all events up to now, and the tracker has counters, which it has not
// before. A tracker that is killed earlier leaves the next one a longer way back, perhaps longer than the API server
// remembers.
func (r *runner) awaitCaughtUp() {
	r.t.Helper()
	if r.lost {
		return // the watches have begun anew, from lists
	}
	var versions map[string]uint64
	harness.Eventually(r.t, "the API server returns its versions", func() (err error) {
		versions, err = highestVersions(r.c)
		return err
	})
	harness.Eventually(r.t, "the catalog has all events", func() error {
		r.ended()
		lines, err := r.p.Query("SELECT kind, max(toUInt64OrZero(resource_version)) FROM checkpoints GROUP BY kind")
		if err != nil {
			return err
		}
		written := map[string]uint64{}
		for _, line := range lines {
			if kind, version, ok := strings.Cut(line, "\t"); ok {
				written[kind], _ = strconv.ParseUint(version, 10, 64)
			}
		}
		for kind, version := range versions {
			if written[kind] < version {
				return fmt.Errorf("%s: %d of %d", kind, written[kind], version)
			}
		}
		for series := range r.p.Metrics(r.t) {
			if strings.HasPrefix(series, "kubevoltracker_mounts_started_total{") {
				return nil
			}
		}
		return errors.New("there are no counters")
	})
}

// highestVersions returns the highest resource version of the objects of each kind that decides about uses.
func highestVersions(c *harness.LocalCluster) (map[string]uint64, error) {
	core := c.Client.CoreV1()
	versions := map[string]uint64{}
	for kind, list := range map[string]func() (runtime.Object, error){
		"Pod": func() (runtime.Object, error) { return core.Pods("").List(background, metav1.ListOptions{}) },
		"PersistentVolumeClaim": func() (runtime.Object, error) {
			return core.PersistentVolumeClaims("").List(background, metav1.ListOptions{})
		},
		"PersistentVolume": func() (runtime.Object, error) {
			return core.PersistentVolumes().List(background, metav1.ListOptions{})
		},
	} {
		all, err := list()
		if err != nil {
			return nil, err
		}
		err = meta.EachListItem(all, func(o runtime.Object) error {
			accessor, err := meta.Accessor(o)
			if err == nil {
				versions[kind] = max(versions[kind], fact.VersionNumber(accessor.GetResourceVersion()))
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return versions, nil
}

// awaitSaved waits until the journal has the positions of the watches. Until then, the next tracker would begin
// where it starts. A row in the catalog was in the journal before, with the positions.
func (r *runner) awaitSaved() {
	r.t.Helper()
	harness.Eventually(r.t, "the first lists are in the catalog", func() error {
		lines, err := r.p.Query("SELECT count() FROM namespaces")
		if err == nil && lines[0] == "0" {
			err = errors.New("there is no namespace")
		}
		return err
	})
}

// unwritten returns since when rows wait to be written.
func (r *runner) unwritten() time.Time {
	r.t.Helper()
	seconds, err := strconv.ParseFloat(r.p.Metrics(r.t)["kubevoltracker_journal_oldest_fact_seconds"], 64)
	if err != nil {
		r.t.Error(err)
	}
	return time.Now().Add(-time.Duration(seconds * float64(time.Second)))
}

// kill ends the tracker by SIGKILL. It must not have ended by itself.
func (r *runner) kill() {
	r.t.Helper()
	r.ended()
	if r.killed.IsZero() {
		r.killed = time.Now()
	}
	r.p.Kill(r.t)
}

// ended fails the test if the tracker has ended by itself.
func (r *runner) ended() {
	r.t.Helper()
	if ended, err := r.p.Ended(); ended {
		r.p.ShowLog(r.t)
		r.t.Fatalf("the tracker has ended by itself: %v", err)
	}
}

// stop ends the tracker by SIGTERM.
func (r *runner) stop() {
	if r.killed.IsZero() {
		r.killed = time.Now()
	}
	r.p.Stop(r.t)
	if r.failed {
		r.p.ShowLog(r.t)
	}
}

// settle waits until the journal has no rows left. A standby drops the first rows of a run, and rows that come of no event, once the leader has passed
// its position, which a bookmark may show a minute later.
func (r *runner) settle() {
	r.t.Helper()
	for deadline := time.Now().Add(4 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		r.ended()
		n := r.p.Metrics(r.t)["kubevoltracker_journal_facts"]
		if n == "0" {
			return
		}
		if time.Now().After(deadline) {
			r.failed = true
			r.t.Fatalf("the tracker in %s has %s rows in its journal that nobody takes", r.dir, n)
		}
	}
}

// stopFor stops the tracker by SIGSTOP for a while, as a suspended machine does, and returns the gap. The tracker
// reads afterwards what happened meanwhile.
func (r *runner) stopFor(d time.Duration) truth.Gap {
	r.t.Helper()
	r.ended()
	stopped := time.Now()
	r.p.Signal(r.t, syscall.SIGSTOP)
	time.Sleep(d)
	r.p.Signal(r.t, syscall.SIGCONT)
	harness.Eventually(r.t, "the tracker answers again", func() error {
		status, _, err := r.p.Get("/readyz")
		if err == nil && status != 200 {
			err = fmt.Errorf("it is not ready: %d", status)
		}
		return err
	})
	return truth.Gap{From: stopped.Add(-2 * time.Second), To: time.Now().Add(5 * time.Second)}
}

// awaitWatches waits until the watches have come back since a moment.
func (r *runner) awaitWatches(since time.Time) {
	r.t.Helper()
	kinds := []string{"Pod", "PersistentVolumeClaim", "PersistentVolume", "VolumeAttachment", "Namespace"}
	harness.Eventually(r.t, "the watches are back", func() error {
		back := map[string]bool{}
		for _, line := range r.p.Lines() {
			at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(line["ts"]))
			if msg := fmt.Sprint(line["msg"]); err == nil && at.After(since) && slices.Contains([]string{"listed", "listed again", "the API server answers again"}, msg) {
				back[fmt.Sprint(line["kind"])] = true
			}
		}
		for _, kind := range kinds {
			if !back[kind] {
				return fmt.Errorf("not that of %s", kind)
			}
		}
		return nil
	})
}
