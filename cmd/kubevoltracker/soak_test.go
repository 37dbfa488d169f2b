package main

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// soakSeed is the seed of all that is random, printed so that a failure can be run again.
func soakSeed(t testing.TB) uint64 {
	seed := uint64(time.Now().UnixNano()) % 100000
	if text := os.Getenv("SOAK_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("SOAK_SEED: %v", err)
		}
		seed = n
	}
	t.Logf("SOAK_SEED=%d", seed)
	return seed
}

// runner runs a tracker that is killed and started again on one data directory.
type runner struct {
	t       testing.TB
	c       *localCluster
	args    []string
	catalog string // where the catalog is, if it is not the tracker's own
	p       *tracker
	killed  time.Time // first, since it last served
	away    gaps
	starts  int
	lost    bool // its journal is, and with it the counters

	log []map[string]any // of those before p

	dir    string
	server *clickHouse // of its own
	proxy  *faultProxy
}

func newRunner(t testing.TB, c *localCluster, args ...string) *runner {
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

// saved is how long it takes at most until the journal knows how far the watches are.
const saved = 8 * time.Second

// unsaved is how long what was seen may not be in the journal yet.
const unsaved = 12 * time.Second

// remembered is how old a resource version may be for a watch to go on from it: the API server keeps
// events for 75 seconds at least.
const remembered = 75 * time.Second

// start starts the tracker, and does not wait for it.
func (r *runner) start() {
	r.t.Helper()
	r.keepLog()
	r.p = launchTracker(r.t, r.c.kubeconfig, r.args...)
	r.starts++
	launched.Add(1)
}

// serve waits until the tracker serves and has been told all that it has to be told. The
// gap since it was last killed ends here.
func (r *runner) serve() {
	r.t.Helper()
	r.p.awaitServing(r.t)
	if r.catalog != "" {
		r.p.catalog = r.catalog
	}
	eventually(r.t, "the tracker is ready", func() error {
		if status, body, err := r.p.get("/readyz?verbose"); err != nil || status != 200 {
			return fmt.Errorf("%d %s %w", status, body, err)
		}
		return nil
	})
	if !r.killed.IsZero() {
		was := gap{from: r.killed.Add(-unsaved)}
		r.awaitCaughtUp()
		was.to = time.Now().Add(5 * time.Second)
		if time.Since(was.from) > remembered {
			r.t.Logf("nobody need know what came and went from %s to %s: the API server need not remember it", was.from.Format(time.TimeOnly), was.to.Format(time.TimeOnly))
			was.lossy = true
		}
		r.away = append(r.away, was)
		r.killed = time.Time{}
	}
}

// awaitCaughtUp waits until all that has happened by now is in the catalog. A tracker that is killed
// before that leaves the next one a longer way back, perhaps longer than the API server remembers.
// And until it has caught up, a tracker has no counters.
func (r *runner) awaitCaughtUp() {
	r.t.Helper()
	if r.lost {
		return // nobody tells any more; the lists have told what there is
	}
	var versions map[string]uint64
	eventually(r.t, "the API server tells how far it is", func() (err error) {
		versions, err = r.c.versions()
		return err
	})
	eventually(r.t, "what was missed is caught up with", func() error {
		r.ended()
		lines, err := r.p.query("SELECT kind, max(toUInt64OrZero(resource_version)) FROM checkpoints GROUP BY kind")
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
		for series := range r.p.metrics(r.t) {
			if strings.HasPrefix(series, "kubevoltracker_mounts_started_total{") {
				return nil
			}
		}
		return errors.New("there are no counters")
	})
}

// versions returns the highest resource version of the objects of each kind that uses come from.
func (c *localCluster) versions() (map[string]uint64, error) {
	core := c.client.CoreV1()
	versions := map[string]uint64{}
	for kind, list := range map[string]func() (runtime.Object, error){
		"Pod": func() (runtime.Object, error) { return core.Pods("").List(background, metav1.ListOptions{}) },
		"PersistentVolumeClaim": func() (runtime.Object, error) {
			return core.PersistentVolumeClaims("").List(background, metav1.ListOptions{})
		},
		"PersistentVolume": func() (runtime.Object, error) { return core.PersistentVolumes().List(background, metav1.ListOptions{}) },
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

// awaitSaved waits until the journal knows how far the tracker is: until then, the next one
// begins where it starts. What is in the catalog was in the journal, with how far it is.
func (r *runner) awaitSaved() {
	r.t.Helper()
	eventually(r.t, "the first lists are in the catalog", func() error {
		lines, err := r.p.query("SELECT count() FROM namespaces")
		if err == nil && lines[0] == "0" {
			err = errors.New("there is no namespace")
		}
		return err
	})
}

// unwritten is from when on rows wait to be written.
func (r *runner) unwritten() time.Time {
	r.t.Helper()
	seconds, err := strconv.ParseFloat(r.p.metrics(r.t)["kubevoltracker_journal_oldest_fact_seconds"], 64)
	if err != nil {
		r.t.Error(err)
	}
	return time.Now().Add(-time.Duration(seconds * float64(time.Second)))
}

// kill ends the tracker with SIGKILL. It must not have ended by itself.
func (r *runner) kill() {
	r.t.Helper()
	r.ended()
	if r.killed.IsZero() {
		r.killed = time.Now()
	}
	_ = r.p.process.Process.Kill()
	r.p.exited <- errors.Join(<-r.p.exited, errKilled)
}

func (r *runner) keepLog() {
	if r.p == nil {
		return
	}
	r.p.mu.Lock()
	defer r.p.mu.Unlock()
	r.log = append(r.log, r.p.log...)
}

// saveLog writes what all starts have said where it is kept with -artifacts.
func (r *runner) saveLog(name string) {
	r.t.Helper()
	r.keepLog()
	var lines strings.Builder
	for _, line := range r.log {
		fmt.Fprintln(&lines, line["ts"], line["level"], line["msg"], line)
	}
	path := filepath.Join(r.t.ArtifactDir(), name+".log")
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		r.t.Error(err)
	}
	r.t.Logf("%s: what the trackers said is in %s, if artifacts are kept", name, path)
}

// saveRows keeps all rows that the catalog has of the UIDs in a verdict, also those that were replaced.
func (r *runner) saveRows(name string, verdict error) {
	r.t.Helper()
	uids := uidIn.FindAllString(verdict.Error(), -1)
	slices.Sort(uids)
	list := "('" + strings.Join(slices.Compact(uids), "', '") + "')"
	var text strings.Builder
	for table, columns := range map[string]string{
		"volumes": "uid", "claims": "uid", "pods": "uid", "attachments": "uid, volume_uid", "bindings": "claim_uid, volume_uid", "mounts": "pod_uid, volume_uid",
		"objects": "uid", "changes": "uid", "checkpoints": "", "coverage": "",
	} {
		what, where := "*", "1"
		if columns != "" {
			where = "hasAny([" + columns + "], " + strings.NewReplacer("(", "[", ")", "]").Replace(list) + ")"
		}
		if table == "objects" {
			what = "kind, uid, resource_version, observed_at"
		}
		rows, err := r.p.query("SELECT " + what + " FROM " + table + " WHERE " + where + " ORDER BY ALL SETTINGS final = 0 FORMAT TSVWithNames")
		fmt.Fprintf(&text, "%s %v\n%s\n\n", table, err, strings.Join(rows, "\n"))
	}
	path := filepath.Join(r.t.ArtifactDir(), name+".rows")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		r.t.Error(err)
	}
}

// ended fails the test if the tracker has ended by itself.
func (r *runner) ended() {
	r.t.Helper()
	select {
	case err := <-r.p.exited:
		r.p.exited <- err
		r.p.mu.Lock()
		defer r.p.mu.Unlock()
		r.t.Fatalf("the tracker has ended by itself: %v\n%v", err, r.p.log[max(0, len(r.p.log)-20):])
	default:
	}
}

// stop ends the tracker in order.
func (r *runner) stop() {
	if r.killed.IsZero() {
		r.killed = time.Now()
	}
	r.p.stop(r.t)
	if r.t.Failed() {
		r.p.mu.Lock()
		defer r.p.mu.Unlock()
		for _, line := range r.p.log[max(0, len(r.p.log)-30):] {
			r.t.Log(line)
		}
	}
}

// settle waits until all that was seen is in the catalog. A tracker that stands by lets go of the last
// rows when a bookmark has told the leader that it is past them: each minute one may come.
func (r *runner) settle() {
	r.t.Helper()
	for deadline := time.Now().Add(4 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		r.ended()
		n := r.p.metrics(r.t)["kubevoltracker_journal_facts"]
		if n == "0" {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("%s facts wait in the journal", n)
		}
	}
}

// battlefield is a churn, and trackers with each their own trouble that watch it.
type battlefield struct {
	t       *testing.T
	c       *localCluster
	seed    uint64
	end     time.Time
	outage  time.Duration // for so long ClickHouse is gone first
	stall   time.Duration // for so long etcd does not answer
	freeze  time.Duration // for so long a tracker is stopped at most
	churn   *churn
	log     *auditLog
	stop    func() error
	store   *clickHouse // for those whose trouble is another
	runners map[string]*runner
}

// trouble is what happens to a tracker until the end. It is at peace before and after.
type trouble struct {
	name    string
	prepare func(b *battlefield, name string) *runner
	inflict func(b *battlefield, r *runner, random *rand.Rand)
}

// runnerOn is a tracker whose catalog is a database of the common ClickHouse.
func runnerOn(b *battlefield, name, dir string, args ...string) *runner {
	url := b.store.url(name)
	r := newRunner(b.t, b.c, append(args, "--data-dir="+dir, "--catalog.url="+url)...)
	r.catalog, r.dir = url, dir
	return r
}

func onCommon(b *battlefield, name string) *runner { return runnerOn(b, name, b.t.TempDir()) }

var troubles = []trouble{
	{"killed", func(b *battlefield, _ string) *runner {
		dir := b.t.TempDir()
		r := newRunner(b.t, b.c, "--data-dir="+dir)
		r.dir = dir
		return r
	}, killedAgainAndAgain},
	{"clickhouse", clickHouseOfItsOwn, func(b *battlefield, r *runner, random *rand.Rand) {
		if r.proxy.gone(r.server, b.outage); b.outage > 0 {
			b.t.Logf("ClickHouse: gone for %s", b.outage)
		}
		r.proxy.torment(r.server, random, max(2*time.Second, time.Until(b.end)/8), b.end)
		for name, n := range r.proxy.faults {
			b.t.Logf("ClickHouse: %s: %d requests", name, n)
		}
	}},
	{"diskfull", onSmallDisk, diskFull},
	{"journal_lost", onCommon, journalLost},
	{"away", onCommon, awayForAWhile},
	{"frozen", onCommon, frozenForAWhile},
	{"pair_a", oneOfAPair, oneOfThePairFails},
	{"pair_b", oneOfAPair, func(*battlefield, *runner, *rand.Rand) {}}, // by the first one's
}

// killedAgainAndAgain kills the tracker at random moments, also while it starts, and
// starts it again at once. Now and then one of them lives until it has caught up: the API
// server need not remember more than the last 75 seconds.
func killedAgainAndAgain(b *battlefield, r *runner, random *rand.Rand) {
	for caughtUp := time.Now(); time.Now().Before(b.end); {
		time.Sleep(time.Duration(random.Int64N(int64(3 * time.Second))))
		if time.Since(caughtUp) > 25*time.Second {
			r.serve()
			caughtUp = time.Now()
		}
		r.kill()
		r.start()
	}
	r.serve()
}

func clickHouseOfItsOwn(b *battlefield, name string) *runner {
	server := ownClickHouse(b.t)
	proxy := startFaultProxy(b.t, server)
	dir := b.t.TempDir()
	r := newRunner(b.t, b.c, "--data-dir="+dir, "--catalog.url=http://"+proxy.address+"/"+name)
	r.catalog, r.dir, r.server, r.proxy = server.url(name), dir, server, proxy
	return r
}

// onSmallDisk gives a tracker a disk of 48 MB for its journal.
func onSmallDisk(b *battlefield, name string) *runner {
	dir := b.t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", dir).CombinedOutput(); err != nil {
		b.t.Logf("no disk is filled, for want of one: %v %s", err, out)
		return nil
	}
	b.t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			b.t.Errorf("%v %s", err, out) // the tracker may have lost its disk
		}
	})
	return runnerOn(b, name, dir)
}

// diskFull fills the disk, kills the tracker on it now and then, and clears it again.
func diskFull(b *battlefield, r *runner, random *rand.Rand) {
	filler := filepath.Join(r.dir, "filler")
	for time.Now().Before(b.end) {
		time.Sleep(time.Duration(random.Int64N(int64(2 * time.Second))))
		full := time.Now()
		file, err := os.Create(filler)
		if err != nil {
			b.t.Error(err)
			return
		}
		for block := make([]byte, 4096); err == nil; {
			_, err = file.Write(block)
		}
		_ = file.Close()
		time.Sleep(time.Second + time.Duration(random.Int64N(int64(3*time.Second))))
		if random.IntN(2) == 0 {
			r.kill()
			r.start() // on a full disk
			time.Sleep(2 * time.Second)
		}
		if err := os.Remove(filler); err != nil {
			b.t.Error(err)
		}
		r.serve()
		r.away = append(r.away, gap{from: full.Add(-unsaved), to: time.Now().Add(12 * time.Second)}) // the watch has waited
	}
}

// journalLost ends the tracker, and takes its journal away or damages it. What waits in a
// journal that is lost is lost with it.
func journalLost(b *battlefield, r *runner, random *rand.Rand) {
	for time.Now().Before(b.end) {
		time.Sleep(time.Second + time.Duration(random.Int64N(int64(2*time.Second))))
		unwritten := r.unwritten()
		if random.IntN(2) == 0 {
			r.kill()
		} else {
			r.stop()
		}
		damage(b.t, filepath.Join(r.dir, "journal"), random)
		r.lost = true
		r.start()
		r.serve()
		last := &r.away[len(r.away)-1]
		last.lossy, last.from = true, unwritten.Add(-unsaved)
	}
}

// damage does something to a journal, or to one of its files: nothing is too bad.
func damage(t testing.TB, path string, random *rand.Rand) {
	files, err := filepath.Glob(filepath.Join(path, "*"))
	if err != nil || len(files) == 0 {
		t.Errorf("the journal has no files: %v", err)
		return
	}
	file := files[random.IntN(len(files))]
	data, err := os.ReadFile(file)
	if err != nil {
		t.Error(err)
		return
	}
	switch n := random.IntN(5); {
	case n == 0:
		err = os.RemoveAll(path)
	case n == 1 || len(data) == 0:
		err = os.Remove(file)
	case n == 2:
		err = os.Truncate(file, random.Int64N(int64(len(data))))
	default:
		for range 1 + random.IntN(20) {
			data[random.IntN(len(data))] ^= 1 << random.IntN(8)
		}
		err = os.WriteFile(file, data, 0o600)
	}
	if err != nil {
		t.Error(err)
	}
}

// awayForAWhile leaves the cluster alone for a third of the time, and asks what is idle
// as soon as the tracker is there again.
func awayForAWhile(b *battlefield, r *runner, random *rand.Rand) {
	for time.Now().Before(b.end) {
		time.Sleep(time.Second + time.Duration(random.Int64N(int64(2*time.Second))))
		r.kill()
		time.Sleep(time.Until(b.end) / 3)
		r.start()
		r.serve()
		for _, row := range r.p.report(b.t, "idle") {
			if since, ok := row["idle_since"].(string); ok {
				if at, err := time.Parse(time.RFC3339, since); err == nil && at.After(time.Now()) {
					b.t.Errorf("report idle: idle from %s on, which is to come", since)
				}
			}
		}
	}
}

// stopFor stops the tracker by SIGSTOP for a while, as a suspended machine does. It sees
// nothing then, and reads afterwards what came meanwhile.
func (r *runner) stopFor(d time.Duration) gap {
	r.t.Helper()
	signal := func(s syscall.Signal) {
		if err := r.p.process.Process.Signal(s); err != nil {
			r.t.Error(err)
		}
	}
	r.ended()
	stopped := time.Now()
	signal(syscall.SIGSTOP)
	time.Sleep(d)
	signal(syscall.SIGCONT)
	eventually(r.t, "the tracker answers again", func() error {
		status, _, err := r.p.get("/readyz")
		if err == nil && status != 200 {
			err = fmt.Errorf("it is not ready: %d", status)
		}
		return err
	})
	return gap{from: stopped.Add(-2 * time.Second), to: time.Now().Add(5 * time.Second)}
}

// frozen is for how long a tracker is stopped next: long enough that what it claims to have
// seen just now happened too long ago, in most cases.
func (b *battlefield) frozen(random *rand.Rand) time.Duration {
	shortest := 12 * time.Second
	if random.IntN(4) == 0 && b.freeze > shortest {
		shortest = time.Second
	}
	return shortest + time.Duration(random.Int64N(int64(b.freeze-shortest)+1))
}

// frozenForAWhile stops the tracker and lets it go on.
func frozenForAWhile(b *battlefield, r *runner, random *rand.Rand) {
	for time.Now().Before(b.end) {
		time.Sleep(time.Duration(random.Int64N(int64(2 * time.Second))))
		r.away = append(r.away, r.stopFor(b.frozen(random)))
		time.Sleep(3 * time.Second)
	}
}

// oneOfAPair is a tracker that shares a catalog with another one.
func oneOfAPair(b *battlefield, _ string) *runner {
	return runnerOn(b, "pair", b.t.TempDir(), "--leader-election", "--leader-election.namespace=default", "--leader-election.lease=pair-of-"+strconv.Itoa(int(b.seed)))
}

// oneOfThePairFails stops one of two trackers, the one that writes or the other, kills it, or tells it
// to end. Both may write rows of that time: either may have bounds in them.
func oneOfThePairFails(b *battlefield, r *runner, random *rand.Rand) {
	pair := []*runner{r, b.runners["pair_b"]}
	for time.Now().Before(b.end) {
		time.Sleep(time.Duration(random.Int64N(int64(2 * time.Second))))
		one := random.IntN(2)
		if random.IntN(2) == 0 && pair[1-one].p.metrics(b.t)["kubevoltracker_leader"] == "1" {
			one = 1 - one
		}
		failing, other := pair[one], pair[1-one]
		switch random.IntN(4) {
		case 0:
			failing.kill()
			failing.start()
			failing.serve()
		case 1:
			failing.stop()
			failing.start()
			failing.serve()
		default:
			failing.away = append(failing.away, failing.stopFor(b.frozen(random)))
		}
		other.away = append(other.away, failing.away[len(failing.away)-1])
		time.Sleep(3 * time.Second)
	}
}

// newBattlefield starts trackers, which see an empty field, and then the churn.
func newBattlefield(t *testing.T, s scope, workers int, pause time.Duration, of []trouble) *battlefield {
	t.Helper()
	b := &battlefield{t: t, c: cluster(t), seed: soakSeed(t), runners: map[string]*runner{}, store: ownClickHouse(t), stall: 2 * time.Second, freeze: 12 * time.Second}
	var starting sync.WaitGroup
	for _, trouble := range of {
		if r := trouble.prepare(b, trouble.name); r != nil {
			b.runners[trouble.name] = r
			r.start()
			starting.Go(func() {
				r.serve()
				r.awaitSaved()
			})
		}
	}
	starting.Wait()
	if len(b.runners) == 0 {
		t.Error("none of the troubles can be had on this machine")
	}
	if t.Failed() {
		t.FailNow()
	}
	var err error
	if b.log, err = openAuditLog(filepath.Join(b.c.dir, "audit.log")); err != nil {
		t.Fatal(err)
	}
	b.churn = startChurn(t, b.c, s, b.seed, workers, pause)
	b.stop = b.churn.follow(b.log)
	return b
}

// inflict has all troubles happen at once, for a while.
func (b *battlefield) inflict(of []trouble, d time.Duration) {
	b.end = time.Now().Add(d)
	var all sync.WaitGroup
	for _, one := range of {
		if r := b.runners[one.name]; r != nil {
			i := slices.IndexFunc(troubles, func(x trouble) bool { return x.name == one.name })
			random := rand.New(rand.NewPCG(b.seed, uint64(1000+i)))
			all.Go(func() { one.inflict(b, r, random) })
		}
	}
	all.Wait()
}

// component does something to a component of the cluster.
func (b *battlefield) component(args ...string) {
	b.t.Helper()
	out, err := exec.Command(program(b.t, "localcluster"), append(append([]string{"restart"}, args...), "--dir", b.c.dir)...).CombinedOutput()
	if err != nil {
		b.t.Errorf("restart %v: %v %s", args, err, out)
	}
}

// shakeTheCluster has a slow etcd, whose history is compacted then, and an API server that
// is restarted, and has forgotten what came before: the watches get a 410. One of the
// trackers is away meanwhile.
func (b *battlefield) shakeTheCluster() {
	b.t.Helper()
	began := time.Now()
	sleeper := b.runners["away"]
	if sleeper != nil {
		sleeper.kill()
	}
	etcd := etcdOf(b.t, b.c)
	_ = syscall.Kill(etcd.pid, syscall.SIGSTOP)
	time.Sleep(b.stall)
	_ = syscall.Kill(etcd.pid, syscall.SIGCONT)
	time.Sleep(time.Second)
	etcd.compact(b.t)
	// A scheduler ends by itself when a pod of the same name is on another node after its
	// watch was cut: that one goes before.
	var scheduler sync.WaitGroup
	scheduler.Go(func() { b.component("kube-scheduler", "--kill", "--down=10s") })
	time.Sleep(300 * time.Millisecond)
	b.component("kube-apiserver", "--down=1s")
	defer scheduler.Wait()
	eventually(b.t, "the API server is back", func() error {
		_, err := b.c.client.Discovery().ServerVersion()
		return err
	})
	if sleeper != nil {
		sleeper.start()
		sleeper.serve()
	}
	for _, r := range b.runners {
		r.awaitWatches(began)
	}
	time.Sleep(saved)
	for _, r := range b.runners {
		from := began.Add(-unsaved)
		if r == sleeper { // it may just have come back, and not have caught up
			from = from.Add(-unsaved)
		}
		r.away = append(r.away, gap{from: from, to: time.Now().Add(2 * time.Second), lossy: true})
	}
}

// awaitWatches waits until the watches have come back since a moment.
func (r *runner) awaitWatches(since time.Time) {
	r.t.Helper()
	kinds := []string{"Pod", "PersistentVolumeClaim", "PersistentVolume", "VolumeAttachment", "Namespace"}
	eventually(r.t, "the watches are back", func() error {
		r.p.mu.Lock()
		defer r.p.mu.Unlock()
		back := map[string]bool{}
		for _, line := range r.p.log {
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

// verdict ends the churn, waits until all is quiet, and compares each catalog with the
// truth. What is still on its way to it is given some time.
func (b *battlefield) verdict() {
	b.t.Helper()
	b.churn.stop()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(500 * time.Millisecond) {
		err := b.churn.quiet()
		if err == nil {
			break
		}
		if time.Now().After(deadline) { // as a claim is that a pod waits for, which it lets not go
			b.t.Logf("it is not quite quiet: %v", err)
			break
		}
	}
	if err := b.stop(); err != nil {
		b.t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(b.runners)) {
		b.runners[name].settle()
		b.judge(name)
	}
}

// judge compares a catalog with the truth until they agree. It gives up 15 seconds after the last
// write to the API, but at most two minutes later: on two cores a controller may lag by a minute.
func (b *battlefield) judge(name string) {
	b.t.Helper()
	const patience = 15 * time.Second
	r, deadline := b.runners[name], time.Now().Add(patience)
	last := deadline.Add(2 * time.Minute)
	for ; ; time.Sleep(time.Second) {
		err := b.log.read()
		if again := b.log.latest(b.churn.scope.owns).Add(patience); again.After(deadline) && again.Before(last) {
			deadline = again
		}
		if err == nil {
			err = logIsComplete(b.c, b.log, b.churn.scope.owns)
		}
		if err == nil {
			truth := truthOf(b.log, b.churn.scope.owns)
			truth.tellEvents()
			var j *judgement
			if j, err = b.churn.scope.judge(truth, r.p, r.away); err == nil {
				uses, wrong, failed := truth.compareUses(b.t, r.p, r.away)
				if err = errors.Join(j.err(truth), failed, truth.explain(wrong)); err == nil {
					b.t.Logf("%s: %d starts: %s; volumes: %s", name, r.starts, j, uses)
					return
				}
			}
		}
		if time.Now().After(deadline) {
			b.t.Errorf("%s: %v", name, err)
			r.saveLog(name)
			r.saveRows(name, err)
			return
		}
	}
}

// TestNothingIsLostInTrouble has trackers that are killed, whose ClickHouse fails, whose
// disk is full, whose journal is lost, that are away for a while, and that are stopped, alone
// or as one of a pair; then the cluster itself is shaken. In the end each catalog has to say
// what the audit log does, and each tracker has to know each volume's state and last use.
func TestNothingIsLostInTrouble(t *testing.T) {
	chosen := chosenTroubles(t)
	b := newBattlefield(t, "trouble-", 6, 300*time.Millisecond, chosen)
	b.inflict(chosen, 15*time.Second)
	b.shakeTheCluster()
	time.Sleep(2 * time.Second)
	b.verdict()
}

// chosenTroubles are those that SOAK_TROUBLES names, as in "killed,pair"; all if it is not set.
func chosenTroubles(t *testing.T) []trouble {
	text := os.Getenv("SOAK_TROUBLES")
	if text == "" {
		return troubles
	}
	var chosen []trouble
	for name := range strings.SplitSeq(text, ",") {
		before := len(chosen)
		for _, x := range troubles {
			if x.name == name || strings.HasPrefix(x.name, name+"_") {
				chosen = append(chosen, x)
			}
		}
		if len(chosen) == before {
			t.Fatalf("SOAK_TROUBLES: there is no trouble %q", name)
		}
	}
	return chosen
}

// TestSoak is all of that at random for SOAK_MINUTES.
func TestSoak(t *testing.T) {
	minutes, err := strconv.ParseFloat(os.Getenv("SOAK_MINUTES"), 64)
	if err != nil {
		t.Skip("it takes minutes: `make soak`, for SOAK_MINUTES")
	}
	chosen := chosenTroubles(t)
	b := newBattlefield(t, "soak-", 6, 500*time.Millisecond, chosen)
	b.freeze = time.Minute
	whole := time.Duration(minutes * float64(time.Minute))
	end := time.Now().Add(whole)
	go func() {
		for range time.Tick(time.Minute) {
			fmt.Printf("soak: %s left, %d things done, %d starts of trackers\n", time.Until(end).Round(time.Second), b.churn.done.Load(), launched.Load())
		}
	}()
	// The first round is long enough for ClickHouse to be gone for a fifth of the time.
	b.outage = whole / 5
	for round := whole / 4; time.Now().Before(end) && !t.Failed(); round = 40 * time.Second {
		b.inflict(chosen, min(round, time.Until(end)))
		b.outage, b.stall = 0, 6*time.Second
		b.shakeTheCluster()
	}
	b.verdict()
}
