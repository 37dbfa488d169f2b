package soak

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
	"github.com/kubevoltracker/kubevoltracker/test/truth"
)

// trouble is what happens to a tracker until the end. Nothing happens to it before and after.
type trouble struct {
	name    string
	prepare func(b *battlefield, name string) *runner
	inflict func(b *battlefield, r *runner, random *rand.Rand)
}

// runnerOn returns a runner whose catalog is a database of the common ClickHouse.
func runnerOn(b *battlefield, name, dir string, args ...string) *runner {
	url := b.store.URL(name)
	r := newRunner(b.t, b.c, append(args, "--data-dir="+dir, "--catalog.url="+url)...)
	r.catalog, r.dir = url, dir
	return r
}

// onCommon returns a runner on the common ClickHouse.
func onCommon(b *battlefield, name string) *runner { return runnerOn(b, name, b.t.TempDir()) }

// troubles are all of them, by the name in SOAK_TROUBLES.
var troubles = []trouble{
	{"killed", func(b *battlefield, _ string) *runner {
		dir := b.t.TempDir()
		r := newRunner(b.t, b.c, "--data-dir="+dir)
		r.dir = dir
		return r
	}, killedAgainAndAgain},
	{"clickhouse", clickHouseOfItsOwn, func(b *battlefield, r *runner, random *rand.Rand) {
		if r.proxy.Gone(r.server, b.outage); b.outage > 0 {
			b.t.Logf("ClickHouse: gone for %s", b.outage)
		}
		r.proxy.Torment(r.server, random, max(2*time.Second, time.Until(b.end)/8), b.end)
		for name, n := range r.proxy.Faults {
			b.t.Logf("ClickHouse: %s: %d requests", name, n)
		}
	}},
	{"diskfull", onSmallDisk, diskFull},
	{"journal_lost", onCommon, journalLost},
	{"away", onCommon, awayForAWhile},
	{"frozen", onCommon, frozenForAWhile},
	{"pair_a", oneOfAPair, oneOfThePairFails},
	{"pair_b", oneOfAPair, func(*battlefield, *runner, *rand.Rand) {}}, // pair_a inflicts it on both
}

// killedAgainAndAgain kills the tracker at random moments, also while it starts, and starts it again at once. Every
// 25 seconds one of them lives until it has caught up, as the API server need not remember more than the last 75
// seconds.
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

// clickHouseOfItsOwn gives a tracker a ClickHouse behind a proxy that fails.
func clickHouseOfItsOwn(b *battlefield, name string) *runner {
	server := harness.StartClickHouse(b.t)
	proxy := harness.StartFaultProxy(b.t, server)
	dir := b.t.TempDir()
	r := newRunner(b.t, b.c, "--data-dir="+dir, "--catalog.url="+harness.CatalogURL(proxy.Address, name))
	r.catalog, r.dir, r.server, r.proxy = server.URL(name), dir, server, proxy
	return r
}

// onSmallDisk gives a tracker a disk of 48 MB for its journal. It returns nil on a machine where the test may not
// mount one.
func onSmallDisk(b *battlefield, name string) *runner {
	dir := b.t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", dir).CombinedOutput(); err != nil {
		b.t.Logf("no disk is filled, as none can be mounted: %v %s", err, out)
		return nil
	}
	b.t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			b.t.Errorf("%v %s", err, out) // a tracker may have written to another disk
		}
	})
	return runnerOn(b, name, dir)
}

// diskFull fills the disk, kills the tracker on it now and then, and clears the disk again.
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
		r.away = append(r.away, truth.Gap{From: full.Add(-unsaved), To: time.Now().Add(12 * time.Second)}) // the watches wait for the disk
	}
}

// journalLost ends the tracker, and removes or damages its journal. Rows that wait in it are lost with it.
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
		last.Lossy, last.From = true, unwritten.Add(-unsaved)
	}
}

// damage does one of five things to a journal.
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

// awayForAWhile keeps the tracker away for a third of the time, and asks for idle volumes as soon as it is back.
func awayForAWhile(b *battlefield, r *runner, random *rand.Rand) {
	for time.Now().Before(b.end) {
		time.Sleep(time.Second + time.Duration(random.Int64N(int64(2*time.Second))))
		r.kill()
		time.Sleep(time.Until(b.end) / 3)
		r.start()
		r.serve()
		for _, row := range r.p.Report(b.t, "idle") {
			if since, ok := row["idle_since"].(string); ok {
				if at, err := time.Parse(time.RFC3339, since); err == nil && at.After(time.Now()) {
					b.t.Errorf("report idle: idle from %s on, which is to come", since)
				}
			}
		}
	}
}

// frozen returns for how long a tracker is stopped next. In most cases that is longer than a tracker may take an
// event for live.
func (b *battlefield) frozen(random *rand.Rand) time.Duration {
	shortest := 12 * time.Second
	if random.IntN(4) == 0 && b.freeze > shortest {
		shortest = time.Second
	}
	return shortest + time.Duration(random.Int64N(int64(b.freeze-shortest)+1))
}

// frozenForAWhile stops the tracker by SIGSTOP and continues it, again and again.
func frozenForAWhile(b *battlefield, r *runner, random *rand.Rand) {
	for time.Now().Before(b.end) {
		time.Sleep(time.Duration(random.Int64N(int64(2 * time.Second))))
		r.away = append(r.away, r.stopFor(b.frozen(random)))
		time.Sleep(3 * time.Second)
	}
}

// oneOfAPair returns a runner that shares a catalog with another one.
func oneOfAPair(b *battlefield, _ string) *runner {
	return runnerOn(b, "pair", b.t.TempDir(), "--leader-election", "--leader-election.namespace=default", "--leader-election.lease=pair-of-"+strconv.Itoa(int(b.seed)))
}

// oneOfThePairFails stops one of two trackers, leader or standby, by SIGSTOP, SIGTERM or SIGKILL. Both may write
// rows of that time, so that either may have bounds in them.
func oneOfThePairFails(b *battlefield, r *runner, random *rand.Rand) {
	pair := []*runner{r, b.runners["pair_b"]}
	for time.Now().Before(b.end) {
		time.Sleep(time.Duration(random.Int64N(int64(2 * time.Second))))
		one := random.IntN(2)
		if random.IntN(2) == 0 && pair[1-one].p.Metrics(b.t)["kubevoltracker_leader"] == "1" {
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

// chosenTroubles returns the troubles that SOAK_TROUBLES names, as in "killed,pair", and all if it is not set.
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
