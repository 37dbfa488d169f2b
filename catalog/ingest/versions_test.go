package ingest

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

func TestVersionCeiling(t *testing.T) {
	now := time.Date(2031, 5, 1, 0, 0, 0, 0, time.UTC)
	year := 365 * 24 * time.Hour
	for name, test := range map[string]struct {
		clock   time.Time
		version time.Time
		follow  bool
	}{
		"of now":                         {now, now, true},
		"of a tracker that is ahead":     {now, now.Add(clocksApart), true},
		"of local time taken for UTC":    {now, now.Add(14 * time.Hour), true},
		"by a clock a year behind":       {now.Add(-year), now, true},
		"of the year after next":         {now, now.Add(2 * year), false},
		"by a clock that is not set yet": {time.Unix(0, 0), now, true},
		"by a clock before 1970":         {time.Unix(-1e9, 0), now, true},
		"by no clock, of year 2200":      {time.Unix(0, 0), now.Add(169 * year), false},
	} {
		if got := micros(test.version) <= VersionCeiling(test.clock); got != test.follow {
			t.Errorf("%s: a version of %s is followed: %v", name, test.version, got)
		}
	}
	if micros(time.Time{}) != 0 || micros(time.Unix(-5, 0)) != 0 {
		t.Error("a moment before 1970 has a version")
	}
}

// absurd are rows of another writer, and of a clock in year 2200: those of v1, c1 and the checkpoint have the keys of
// rows that a tracker writes.
func absurd() *fact.Facts {
	in2200 := time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
	checkpoint := points("us", map[fact.Kind]string{fact.Pods: "1"})
	checkpoint[0].At = fact.At(in2200)
	return &fact.Facts{
		Volumes:     []fact.Volume{{UID: "v1", Phase: "absurd", Version: math.MaxUint64}, {UID: "v3", Phase: "absurd", Version: math.MaxUint64}},
		Claims:      []fact.Claim{{UID: "c1", Phase: "Pending", Version: micros(in2200)}, {UID: "c2", Phase: "Pending", Version: micros(in2200)}},
		Checkpoints: checkpoint,
	}
}

// TestAnAbsurdVersionIsNotFollowed has a tracker take over a catalog with absurd rows, by a lease without a renewTime.
// It writes as if they were not there, and says what to do; then that is done.
func TestAnAbsurdVersionIsNotFollowed(t *testing.T) {
	c, j := migrated(t), newJournal(t)
	write(t, c, "east", absurd())
	ahead := time.Now().Add(clocksApart)
	write(t, c, "east", &fact.Facts{
		Volumes:  []fact.Volume{{UID: "v2", Phase: "Bound", Version: micros(ahead)}},
		Coverage: []fact.Coverage{{Instance: "them", Kind: fact.Pods, StartedAt: 1, SeenAt: 2, Version: 3}},
	})
	record(t, j, &fact.Facts{
		Volumes:     []fact.Volume{{UID: "v1", Phase: "Released", Version: micros(time.Now())}, {UID: "v2", Phase: "Released", Version: micros(time.Now())}},
		Claims:      []fact.Claim{{UID: "c1", Phase: "Bound", Version: micros(time.Now())}},
		Checkpoints: points("us", map[fact.Kind]string{fact.Pods: "2"}),
	})
	if known, err := RestoreCatalog(t.Context(), c, "east", "us"); err != nil || known == nil || known.Version != micros(ahead) {
		t.Fatalf("a restart goes on from %+v, want version %d: %v", known, micros(ahead), err)
	}

	var logged bytes.Buffer
	lease := &granted{former: "them", until: time.Time{}.Add(leaseOver), changed: make(chan struct{})}
	lease.set(true)
	w := NewWriter(c, WriterOptions{Journal: j, Cluster: "east", Lease: lease, Logger: log.NewLogfmtLogger(log.NewSyncWriter(&logged))})
	w.term = lease.Held()
	if err := w.beginTakeover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if floor := w.VersionFloor(); floor < micros(ahead) || floor > micros(ahead.Add(time.Minute)) {
		t.Errorf("row versions go on from %d, want %d and a little", floor, micros(ahead))
	}
	checkNoted(t, w, logged.String())
	for range 2 {
		if done, err := w.writeNext(t.Context(), 0); err != nil {
			t.Fatal(done, err)
		}
	}
	shown := func() string {
		return fmt.Sprint(rows(t, c, "SELECT uid, phase FROM volumes FINAL ORDER BY uid"), rows(t, c, "SELECT phase FROM claims FINAL ORDER BY uid"), rows(t, c, "SELECT resource_version FROM checkpoints FINAL"))
	}
	if got := shown(); got != "[[v1 absurd] [v2 Released] [v3 absurd]] [[Pending] [Pending]] [[1]]" {
		t.Errorf("the absurd rows hide others: %s", got)
	}

	keep, remove, putBack := mending(t)
	for _, sql := range []string{keep, remove, putBack} { // the claims are the tracker's own
		rows(t, c, strings.ReplaceAll(sql, "volumes", "claims"))
	}
	rows(t, c, remove)
	rows(t, c, "DELETE FROM checkpoints WHERE at > now64(6) + INTERVAL 1 DAY")
	if err := w.beginTakeover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := testutil.ToFloat64(w.metrics.beyond); n != 0 {
		t.Errorf("%v rows are ahead after they were mended", n)
	}
	if got := shown(); !strings.HasPrefix(got, "[[v1 Released] [v2 Released]] [[Bound] [Pending]]") {
		t.Errorf("the newer rows, and the claim that has no other: %s", got)
	}
	write(t, c, "east", &fact.Facts{
		Volumes: []fact.Volume{{UID: "v1", Phase: "Available", Version: w.VersionFloor() + 1}},
		Claims:  []fact.Claim{{UID: "c1", Phase: "Lost", Version: w.VersionFloor() + 2}},
	})
	if got := shown(); !strings.HasPrefix(got, "[[v1 Available] [v2 Released]] [[Lost] [Pending]]") {
		t.Errorf("in the end: %s", got)
	}
}

// checkNoted checks that a takeover of the absurd rows has logged and counted them.
func checkNoted(t *testing.T, w *Writer, logged string) {
	t.Helper()
	if n := testutil.ToFloat64(w.metrics.beyond); n != 5 {
		t.Errorf("%v rows are ahead", n)
	}
	for _, part := range []string{"level=warn", "rows=5", "tables=checkpoints,claims,volumes", "docs/catalog.md"} {
		if !strings.Contains(logged, part) {
			t.Errorf("%q is not in %s", part, logged)
		}
	}
}

// mending returns the statements of docs/catalog.md that keep rows, delete them, and put them back.
func mending(t *testing.T) (keep, remove, putBack string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/catalog.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Row versions\n")
	blocks := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(section, 4)
	if len(blocks) < 4 || !strings.Contains(blocks[1][1], "CREATE") || !strings.Contains(blocks[2][1], "DELETE") || !strings.Contains(blocks[3][1], "INSERT") {
		t.Fatalf("the statements are not there: %q", blocks)
	}
	return blocks[1][1], blocks[2][1], blocks[3][1]
}

// TestAnAbsurdVersionInTheJournal is that of a tracker whose clock was wrong: a restart forgets it, and says so.
func TestAnAbsurdVersionInTheJournal(t *testing.T) {
	path := t.TempDir() + "/journal"
	for i, test := range []struct {
		version, want uint64
		logged        bool
	}{
		{micros(time.Now()), micros(time.Now()), false},
		{micros(time.Now().Add(clocksApart)), micros(time.Now().Add(clocksApart)), false},
		{math.MaxUint64, 0, true},
		{micros(time.Now()), micros(time.Now()), false}, // the next run begins with its clock again
	} {
		var logged bytes.Buffer
		open := func() *journal.Journal {
			t.Helper()
			j, err := journal.Open(t.Context(), journal.Options{Path: path, MaxVersion: VersionCeiling(time.Now()), Logger: log.NewLogfmtLogger(&logged)})
			if err != nil {
				t.Fatal(err)
			}
			return j
		}
		j := open()
		if err := j.Commit(t.Context(), journal.Batch{Version: test.version, Positions: []journal.Position{{Kind: "Pod", ResourceVersion: "1"}}}); err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		logged.Reset()
		j = open()
		known, err := RestoreJournal(j)
		if err != nil {
			t.Fatal(err)
		}
		if got := known.Version; got > test.want+uint64(time.Minute.Microseconds()) || got+uint64(time.Minute.Microseconds()) < test.want {
			t.Errorf("%d: the restart goes on from %d, want %d", i, got, test.want)
		}
		if strings.Contains(logged.String(), "row version is ignored") != test.logged {
			t.Errorf("%d: it logs %q", i, &logged)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if i == 1 { // a run that begins with a journal of its own
			path += "2"
		}
	}
}
