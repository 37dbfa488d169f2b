package soak

import (
	"errors"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
	"github.com/kubevoltracker/kubevoltracker/test/truth"
)

// battlefield is a churn, and trackers that watch it, each with a trouble of its own.
type battlefield struct {
	t       *testing.T
	c       *harness.LocalCluster
	seed    uint64
	end     time.Time
	outage  time.Duration // how long ClickHouse is gone in the first round
	stall   time.Duration // how long etcd does not answer
	freeze  time.Duration // how long a tracker is stopped at most
	churn   *churn
	log     *truth.Log
	stop    func() error
	store   *harness.ClickHouse // the common ClickHouse
	runners map[string]*runner
}

// newBattlefield starts the trackers, and then the churn.
func newBattlefield(t *testing.T, s truth.Scope, workers int, pause time.Duration, of []trouble) *battlefield {
	t.Helper()
	b := &battlefield{t: t, c: harness.Cluster(t), seed: soakSeed(t), runners: map[string]*runner{}, store: harness.StartClickHouse(t), stall: 2 * time.Second, freeze: 12 * time.Second}
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
		t.Error("this machine can inflict none of the troubles")
	}
	if t.Failed() {
		t.FailNow()
	}
	var err error
	if b.log, err = truth.OpenLog(filepath.Join(b.c.Dir, "audit.log")); err != nil {
		t.Fatal(err)
	}
	b.churn = startChurn(t, b.c, s, b.seed, workers, pause)
	b.stop = b.churn.follow(b.log)
	return b
}

// inflict inflicts all troubles at once, for a while.
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

// restart restarts a component of the cluster.
func (b *battlefield) restart(component string, args ...string) {
	b.t.Helper()
	if err := b.c.Restart(component, args...); err != nil {
		b.t.Error(err)
	}
}

// shakeTheCluster stops etcd for a while, compacts its history, and restarts the API server, which has forgotten
// what came before: the watches get a 410. One of the trackers is away meanwhile.
func (b *battlefield) shakeTheCluster() {
	b.t.Helper()
	began := time.Now()
	sleeper := b.runners["away"]
	if sleeper != nil {
		sleeper.kill()
	}
	etcd := harness.EtcdOf(b.t, b.c)
	_ = syscall.Kill(etcd.PID, syscall.SIGSTOP)
	time.Sleep(b.stall)
	_ = syscall.Kill(etcd.PID, syscall.SIGCONT)
	time.Sleep(time.Second)
	etcd.Compact(b.t)
	// A scheduler ends by itself if a pod of the same name is on another node after its watch has broken. This one is
	// killed before.
	var scheduler sync.WaitGroup
	scheduler.Go(func() { b.restart("kube-scheduler", "--kill", "--down=10s") })
	time.Sleep(300 * time.Millisecond)
	b.restart("kube-apiserver", "--down=1s")
	defer scheduler.Wait()
	b.c.AwaitAPI(b.t)
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
		if r == sleeper { // it has just come back, and may not have caught up
			from = from.Add(-unsaved)
		}
		r.away = append(r.away, truth.Gap{From: from, To: time.Now().Add(2 * time.Second), Lossy: true})
	}
}

// verdict ends the churn, waits until nothing changes any more, and compares each catalog with the truth.
func (b *battlefield) verdict() {
	b.t.Helper()
	b.churn.stop()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(500 * time.Millisecond) {
		err := b.churn.quiet()
		if err == nil {
			break
		}
		if time.Now().After(deadline) { // a pod may wait for a claim that is being deleted
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

// judge compares a catalog with the truth until they agree. It gives up 15 seconds after the last write to the API,
// but two minutes later at most: on two cores a controller may lag by a minute.
func (b *battlefield) judge(name string) {
	b.t.Helper()
	const patience = 15 * time.Second
	r, deadline := b.runners[name], time.Now().Add(patience)
	last := deadline.Add(2 * time.Minute)
	for ; ; time.Sleep(time.Second) {
		err := b.log.Read()
		if again := b.log.Latest(b.churn.scope.Owns).Add(patience); again.After(deadline) && again.Before(last) {
			deadline = again
		}
		if err == nil {
			err = b.log.AgreesWith(b.c, b.churn.scope.Owns)
		}
		if err == nil {
			want := truth.Of(b.log, b.churn.scope.Owns)
			want.CountEvents()
			var j *truth.Judgement
			if j, err = b.churn.scope.Judge(want, r.p, r.away); err == nil {
				uses, wrong, failed := want.CompareUses(b.t, r.p, r.away)
				if err = errors.Join(j.Err(want), failed, want.Explain(wrong)); err == nil {
					b.t.Logf("%s: %d starts: %s; volumes: %s", name, r.starts, j, uses)
					return
				}
			}
		}
		if time.Now().After(deadline) {
			b.t.Errorf("%s: %v", name, err)
			r.failed = true
			r.saveLog(name)
			r.saveRows(name, err)
			return
		}
	}
}
