package exporter

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

// second is a second as a fact.Time.
const second = fact.Time(1e6)

// timeline is an exporter whose clock the test sets, in seconds after testNow, with the journal that outlives it.
type timeline struct {
	t       *testing.T
	now     fact.Time
	e       *Exporter
	tally   *Tally // the recorder's
	journal map[string][]byte
}

func newTimeline(t *testing.T) *timeline {
	l := &timeline{t: t, now: testNow, journal: map[string][]byte{}}
	l.restart()
	return l
}

// restart begins a new run with what the journal has.
func (l *timeline) restart() {
	clock := func() time.Time { return l.now.Time() }
	l.tally = NewTally(clock)
	if err := l.tally.Restore(l.journal); err != nil {
		l.t.Fatal(err)
	}
	l.e = New(Options{Registry: prometheus.NewRegistry(), Now: clock})
	l.e.Restore(l.tally, func() bool { return true })
}

// resume begins a new run, and brings the states that the journal has of the one before, as the collector does.
func (l *timeline) resume(states *fact.Update) {
	l.restart()
	l.apply(states)
	l.apply(&fact.Update{Resumed: true})
}

// persist commits what has changed to the journal.
func (l *timeline) persist() {
	l.t.Helper()
	for name, data := range mustRecords(l.t, l.tally) {
		if l.journal[name] = data; data == nil {
			delete(l.journal, name)
		}
	}
}

func (l *timeline) at(seconds int64) *timeline {
	l.now = testNow + fact.Time(seconds)*second
	return l
}

func (l *timeline) apply(u *fact.Update) {
	u.At = l.now
	l.e.Apply(u)
}

// want compares capacity and idle byte-seconds of the namespace shop and the class fast with expected values.
func (l *timeline) want(seconds int64, capacity, idle float64) {
	l.t.Helper()
	l.at(seconds)
	wantText(l.t, samples(l.t, l.e, "kubevoltracker_namespace_capacity_byte_seconds", "kubevoltracker_namespace_idle_byte_seconds"), fmt.Sprintf(`
kubevoltracker_namespace_capacity_byte_seconds_total{namespace="shop",storageclass="fast"} %s
kubevoltracker_namespace_idle_byte_seconds_total{namespace="shop",storageclass="fast"} %s
`, prometheusNumber(capacity), prometheusNumber(idle)))
}

// prometheusNumber writes a number as the text format does.
func prometheusNumber(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

func boundClaim(uid string, bytes int64, bound fact.Time) fact.ClaimState {
	c := testClaim()
	c.UID, c.CapacityBytes, c.BoundAt = uid, bytes, bound
	return c
}

// awaiting is a claim that was observed to be bound at a moment, and whose volume was not yet.
func awaiting(uid string, bytes int64, observed fact.Time) fact.ClaimState {
	c := boundClaim(uid, bytes, observed)
	c.AwaitsVolume = true
	return c
}

func deletedClaim(uid string, bytes int64, notBefore fact.Time) fact.ClaimState {
	c := boundClaim(uid, bytes, 0)
	c.Gone, c.DeletedNotBefore = true, notBefore
	return c
}

func volumeIn(uid string, bytes int64, status fact.VolumeStatus, changed fact.Time) fact.VolumeState {
	v := testVolume()
	v.UID, v.Name, v.CapacityBytes, v.Status, v.ChangedAt = uid, uid, bytes, status, changed
	if status == fact.VolumeIdle || status == fact.VolumeNeverMounted {
		v.IdleSince = changed
	}
	return v
}

// momentAt is a moment in seconds after testNow.
func momentAt(seconds float64) fact.Time { return testNow + fact.Time(seconds*1e6) }

func TestCapacityCountsFromTheEventsOwnTimes(t *testing.T) {
	l := newTimeline(t)
	l.at(0).apply(claimsUpdate(boundClaim("a", 100, ago(time.Hour)))) // what was bound before the first run does not count
	l.want(0, 0, 0)
	l.want(10, 1000, 0)
	l.at(20).apply(claimsUpdate(boundClaim("b", 7, momentAt(19.5)))) // overlaps with the other one
	l.want(20, 2000+3.5, 0)
	l.at(30).apply(claimsUpdate(boundClaim("a", 300, ago(time.Hour)))) // was resized
	l.want(30, 3000+7*10.5, 0)
	l.want(31, 3300+7*11.5, 0)
	l.at(40).apply(claimsUpdate(deletedClaim("b", 7, momentAt(38))))
	l.want(41, 3000+11*300+7*18.5, 0)
	lost := boundClaim("a", 300, ago(time.Hour))
	lost.Phase = "Lost"
	l.at(50).apply(claimsUpdate(lost))
	l.want(60, 3000+20*300+7*18.5, 0)
	l.at(70).apply(claimsUpdate(deletedClaim("a", 300, momentAt(70)))) // the group is gone, and its counter stays
	l.want(80, 3000+20*300+7*18.5, 0)
	l.at(90).apply(claimsUpdate(boundClaim("c", 1, momentAt(90))))
	l.want(100, 3000+20*300+7*18.5+10, 0)
}

// The volume, which tells exactly when a claim was bound, can arrive after the claim.
func TestCapacityCountsFromABindingThatIsKnownLater(t *testing.T) {
	l := newTimeline(t)
	l.at(0).apply(claimsUpdate(boundClaim("z", 1, testNow)))
	l.at(10).apply(claimsUpdate(awaiting("a", 10, momentAt(10)), awaiting("b", 10, momentAt(10))))
	l.want(10, 10, 0)
	l.at(11).apply(claimsUpdate(boundClaim("a", 10, momentAt(4))))
	l.want(12, 12+10*8, 0)
	l.at(13).apply(claimsUpdate(deletedClaim("b", 10, momentAt(7)))) // no time is known at which it was bound
	l.want(14, 14+10*10, 0)
}

// A tracker lists after a restart, with a clock that is behind that of the run before: what is gone went at a time that nobody
// knows, and has counted until now.
func TestByteSecondsOfWhatWentAtAnUnknownTime(t *testing.T) {
	l, inv := newTimeline(t), inventory.New()
	list := func(seconds int64, first bool, names ...string) {
		t.Helper()
		l.at(seconds)
		lists, class, size := map[fact.Kind][]any{}, "fast", corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10")}
		for _, name := range names {
			meta := metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: "1", CreationTimestamp: metav1.NewTime(ago(time.Hour).Time())}
			volume := &corev1.PersistentVolume{ObjectMeta: meta, Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound, LastPhaseTransitionTime: &meta.CreationTimestamp}}
			volume.Spec = corev1.PersistentVolumeSpec{StorageClassName: class, Capacity: size, ClaimRef: &corev1.ObjectReference{Namespace: "shop", Name: name, UID: meta.UID}}
			meta.Namespace = "shop"
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: meta, Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: size}}
			claim.Spec = corev1.PersistentVolumeClaimSpec{StorageClassName: &class, VolumeName: name}
			lists[fact.Volumes], lists[fact.Claims] = append(lists[fact.Volumes], volume), append(lists[fact.Claims], claim)
		}
		for kind, objects := range lists {
			if err := inv.Replace(kind, objects, inventory.Observation{At: l.now, Found: first, Version: "2"}); err != nil {
				t.Fatal(err)
			}
		}
		var u fact.Update
		inv.Take(&u)
		l.apply(&u)
	}
	list(0, true, "a", "b")
	l.want(1000, 20_000, 20_000)
	list(1000, false, "b")
	l.want(1010, 20_100, 20_100)
}

// A tracker ends, by whatever means, between a claim's event and its volume's: the next one counts from when it was bound.
func TestCapacityOfABindingThatTheNextRunLearns(t *testing.T) {
	for _, killed := range []bool{false, true} { // before the journal had the claim
		l := newTimeline(t)
		begin := claimsUpdate(boundClaim("z", 1, testNow))
		l.at(0).apply(begin)
		a := awaiting("a", 10, momentAt(10))
		l.at(10).apply(claimsUpdate(a))
		l.persist()
		if !killed {
			begin.Claims = append(begin.Claims, a)
		}
		l.at(20).resume(begin)
		if killed {
			l.apply(claimsUpdate(awaiting("a", 10, momentAt(20))))
		}
		l.want(20, 20, 0)
		l.at(21).apply(claimsUpdate(boundClaim("a", 10, momentAt(5))))
		l.want(30, 30+10*25, 0)
	}
}

func TestIdleSpaceCountsWhileNobodyUsesIt(t *testing.T) {
	l := newTimeline(t)
	mounted := volumeIn("v", 10, fact.VolumeMounted, ago(time.Hour))
	l.at(0).apply(&fact.Update{Volumes: []fact.VolumeState{mounted}})
	l.at(10).apply(volumesUpdate(volumeIn("v", 10, fact.VolumeIdle, momentAt(9))))
	l.want(10, 0, 10)
	l.at(20).apply(volumesUpdate(volumeIn("v", 30, fact.VolumeIdle, momentAt(9)))) // grown while idle
	l.want(21, 0, 10*11+30)
	l.at(30).apply(volumesUpdate(volumeIn("v", 30, fact.VolumePending, momentAt(29))))
	l.want(35, 0, 10*11+30*9)
	// The pod that awaited it is deleted at 40, and the last use is still that of 9.
	l.at(40).apply(volumesUpdate(volumeIn("v", 30, fact.VolumeIdle, momentAt(9))))
	l.want(48, 0, 10*11+30*17)
	l.at(50).apply(volumesUpdate(volumeIn("v", 30, fact.VolumeMounted, momentAt(48))))
	l.want(60, 0, 10*11+30*17)
	l.at(60).apply(volumesUpdate(volumeIn("v", 30, fact.VolumeIdle, momentAt(60))))
	released := volumeIn("v", 30, fact.VolumeReleased, momentAt(70))
	released.IdleSince = momentAt(60)
	l.at(71).apply(volumesUpdate(released)) // a released volume is not one of the namespace's bound volumes
	l.want(80, 0, 10*11+30*27)
	gone := released
	gone.Gone, gone.DeletedNotBefore = true, momentAt(81)
	l.at(81).apply(volumesUpdate(gone))
	l.want(90, 0, 10*11+30*27)
}

// A job that ran while nobody watched arrives as one event: idle before, and idle after.
func TestIdleSpaceLeavesOutAUseWithinOneUpdate(t *testing.T) {
	l := newTimeline(t)
	l.at(0).apply(volumesUpdate(volumeIn("v", 10, fact.VolumeIdle, ago(time.Hour))))
	u := volumesUpdate(volumeIn("v", 10, fact.VolumeIdle, momentAt(60)))
	u.Facts.Mounts = []fact.Mount{
		{VolumeUID: "v", StartedAt: momentAt(50), EndedAt: momentAt(60)},
		{VolumeUID: "v", StartedAt: momentAt(40), EndedAt: momentAt(55)},
		{VolumeUID: "v", StartedAt: ago(2 * time.Hour), EndedAt: ago(time.Hour)}, // known before
		{VolumeUID: "other", StartedAt: momentAt(1), EndedAt: momentAt(60)},
	}
	l.at(100).apply(u)
	l.want(100, 0, 10*(40+40))
}

// The state in the journal may be older than the records of the counters: then the watch sends the changes again.
func TestByteSecondsGoOnAfterARestart(t *testing.T) {
	l := newTimeline(t)
	begin := &fact.Update{
		Claims:  []fact.ClaimState{boundClaim("a", 100, ago(time.Hour)), boundClaim("b", 10, ago(time.Hour))},
		Volumes: []fact.VolumeState{volumeIn("va", 100, fact.VolumeIdle, ago(time.Hour))},
	}
	l.at(0).apply(begin)
	l.at(10).apply(claimsUpdate(boundClaim("b", 20, ago(time.Hour))))
	l.persist()
	l.want(20, 100*20+10*10+20*10, 2000)

	// Nothing changed: the time without a tracker counts.
	begin.Claims[1].CapacityBytes = 20
	l.at(1000).resume(begin)
	l.want(1000, 100*1000+10*10+20*990, 100_000)
	created := fmt.Sprintf(`kubevoltracker_namespace_capacity_byte_seconds_created{namespace="shop",storageclass="fast"} %s`, openMetricsSeconds(testNow))
	l.e.created = true
	if body := get(l.e.Handler(), acceptOpenMetrics).Body.String(); !strings.Contains(body, created) {
		t.Errorf("no line %s", created)
	}

	// It is killed after it has seen claim c and the use of the volume at 1010, which the journal has only in the
	// counters: the watch sends both again.
	l.at(1010).apply(&fact.Update{
		Claims:  []fact.ClaimState{boundClaim("c", 1, momentAt(1008))},
		Volumes: []fact.VolumeState{volumeIn("va", 100, fact.VolumeMounted, momentAt(1009))},
	})
	l.persist()
	l.at(1020).resume(begin)
	l.at(1021).apply(&fact.Update{
		Claims:  []fact.ClaimState{boundClaim("c", 1, momentAt(1008))},
		Volumes: []fact.VolumeState{volumeIn("va", 100, fact.VolumeMounted, momentAt(1009))},
	})
	l.want(1030, 100*1030+10*10+20*1020+22, 100_900)

	// Claim b is deleted while no tracker runs: it counts until then. The first scrape shows no less than the last
	// one of the run before can have shown; then the counter stands still until the value has caught up.
	l.persist()
	begin.Claims = append(begin.Claims, boundClaim("c", 1, momentAt(1008)))
	begin.Volumes[0] = volumeIn("va", 100, fact.VolumeMounted, momentAt(1009))
	l.at(1040).resume(begin)
	l.apply(claimsUpdate(deletedClaim("b", 20, momentAt(1035))))
	at := func(s float64) float64 { return 100*s + 10*10 + 20*1025 + (s - 1008) }
	const shown = 100*1040 + 10*10 + 20*1030 + 32
	if at(1040) >= shown || at(1042) <= shown {
		t.Fatalf("%g, %d, %g", at(1040), shown, at(1042))
	}
	l.want(1040, shown, 100_900)
	l.want(1040, shown, 100_900)
	l.want(1042, at(1042), 100_900)
	l.want(1100, at(1100), 100_900)

	// Neither a journal without byte-seconds nor a damaged record stops the tracker.
	l.journal = map[string][]byte{"/byte-seconds/shop": []byte("{")}
	l.tally = NewTally(func() time.Time { return l.now.Time() })
	if err := l.tally.Restore(l.journal); err == nil || !strings.Contains(err.Error(), "/byte-seconds/shop") {
		t.Errorf("error %v", err)
	}
	l.journal = map[string][]byte{}
	l.at(2000).restart()
	l.apply(begin)
	l.want(2001, 121, 0)
}

// A claim of which nobody knows when it was bound (Kubernetes before 1.28) goes on after each restart.
func TestCapacityOfABindingOfUnknownTime(t *testing.T) {
	l := newTimeline(t)
	states := claimsUpdate(boundClaim("a", 10, 0))
	l.at(0).apply(states)
	for _, restart := range []int64{100, 200} {
		l.persist()
		l.at(restart).resume(states)
		l.want(restart+10, float64(10*(restart+10)), 0)
	}
}

// The run before has learnt when a claim was bound, and was killed before the journal had that: it does not count twice.
func TestCapacityOfABindingThatTheRecordsKnowBetter(t *testing.T) {
	l := newTimeline(t)
	l.at(0).apply(&fact.Update{})
	l.at(10).apply(claimsUpdate(awaiting("a", 10, momentAt(10))))
	l.at(11).apply(claimsUpdate(boundClaim("a", 10, momentAt(5))))
	l.persist()
	l.at(20).resume(claimsUpdate(awaiting("a", 10, momentAt(10))))
	l.at(21).apply(claimsUpdate(boundClaim("a", 10, momentAt(5))))
	l.want(30, 10*25, 0)
}

// A claim that stays bound counts all the time, also if its volume has been bound anew.
func TestCapacityOfAClaimWhoseVolumeIsBoundAnew(t *testing.T) {
	l := newTimeline(t)
	l.at(0).apply(&fact.Update{})
	l.at(10).apply(claimsUpdate(boundClaim("a", 10, momentAt(10))))
	l.at(1000).apply(claimsUpdate(boundClaim("a", 10, momentAt(999))))
	l.want(1010, 10*1000, 0)
}

// An idle volume of another storage class counts there from when that was observed.
func TestIdleSpaceOfAVolumeThatChangesItsClass(t *testing.T) {
	l := newTimeline(t)
	v := volumeIn("v", 10, fact.VolumeIdle, ago(time.Hour))
	v.ClaimClass = "slow"
	l.at(0).apply(volumesUpdate(v))
	v.ClaimClass = "fast"
	l.at(100).apply(volumesUpdate(v))
	l.at(150)
	wantText(t, samples(t, l.e, "kubevoltracker_namespace_idle_byte_seconds"), `
kubevoltracker_namespace_idle_byte_seconds_total{namespace="shop",storageclass="fast"} 500
kubevoltracker_namespace_idle_byte_seconds_total{namespace="shop",storageclass="slow"} 1000
`)
}

// The volume can be ahead, too: then the claim is pending, and known to be bound.
func TestCapacityOfAClaimWhoseVolumeIsBoundFirst(t *testing.T) {
	l := newTimeline(t)
	pending := boundClaim("a", 10, momentAt(5))
	pending.Phase = "Pending"
	l.at(0).apply(claimsUpdate(boundClaim("z", 1, testNow)))
	l.at(10).apply(claimsUpdate(pending))
	l.at(20).apply(claimsUpdate(boundClaim("a", 10, momentAt(5))))
	l.want(30, 30+10*25, 0)
}

// A claim that was lost, and is bound again, does not count in between. Its volume says later when it was bound again.
func TestCapacityOfAClaimThatWasLost(t *testing.T) {
	l := newTimeline(t)
	lost, again := boundClaim("a", 10, testNow), boundClaim("a", 10, momentAt(50))
	lost.Phase, lost.BoundBefore = "Lost", true
	l.at(0).apply(claimsUpdate(boundClaim("a", 10, testNow)))
	l.at(20).apply(claimsUpdate(lost))
	l.at(52).apply(claimsUpdate(awaiting("a", 10, testNow)))
	l.at(53).apply(claimsUpdate(again))
	l.at(54).apply(claimsUpdate(again))
	l.want(120, 10*(20+70), 0)

	lost.BoundAt = again.BoundAt
	l.at(120).apply(claimsUpdate(lost))
	l.persist()
	l.at(130).resume(claimsUpdate(lost))
	l.at(142).apply(claimsUpdate(again))
	l.want(142, 10*(20+70), 0)
	l.want(150, 10*(20+70+8), 0)

	lost.BoundAt = again.BoundAt
	l.at(150).apply(claimsUpdate(lost))
	l.persist()
	l.at(180).resume(claimsUpdate(lost))
	l.at(181).apply(claimsUpdate(boundClaim("a", 10, momentAt(160)))) // while no tracker ran
	l.want(200, 10*(20+70+8+40), 0)

	// Its status is lost, and comes back to the next run.
	pending := boundClaim("a", 10, momentAt(160))
	pending.Phase, pending.BoundBefore = "Pending", true
	l.apply(claimsUpdate(pending))
	l.persist()
	l.at(205).resume(claimsUpdate(pending))
	l.at(210).apply(claimsUpdate(boundClaim("a", 10, momentAt(160))))
	l.want(220, 10*(20+70+8+40+10), 0)

	// Its volume is observed first, and says of the lost claim when it is bound again.
	for _, bound := range []float64{160, 225} {
		lost.BoundAt = momentAt(bound)
		l.at(220).apply(claimsUpdate(lost))
	}
	l.at(230).apply(claimsUpdate(boundClaim("a", 10, momentAt(225))))
	l.want(240, 10*(20+70+8+40+10+15), 0)
}

// A claim that came while no tracker ran counts from when it was bound, also in a namespace that is new.
func TestByteSecondsOfAClaimThatCameMeanwhile(t *testing.T) {
	l := newTimeline(t)
	other := boundClaim("o", 1, 0)
	other.Namespace = "lab"
	l.at(0).apply(claimsUpdate(other))
	l.persist()
	l.at(100).resume(claimsUpdate(other))
	l.apply(claimsUpdate(boundClaim("a", 10, momentAt(40))))
	l.at(110)
	if got, want := samples(t, l.e, `kubevoltracker_namespace_capacity_byte_seconds_total{namespace="shop"`), " 700\n"; !strings.HasSuffix(got, want) {
		t.Errorf("got %s, want%s", got, want)
	}
}

// The only StorageClass that had a claim's class was deleted before the tracker ended. The next run does not know the class.
func TestByteSecondsOfAClassThatIsGone(t *testing.T) {
	l := newTimeline(t)
	l.at(0).apply(claimsUpdate(boundClaim("a", 10, ago(time.Hour))))
	l.persist()
	unknown := boundClaim("a", 10, ago(time.Hour))
	unknown.StorageClass = fact.UnknownClass
	l.at(100).resume(claimsUpdate(unknown))
	l.at(110)
	if got, want := samples(t, l.e, `kubevoltracker_namespace_capacity_byte_seconds_total{namespace="shop",storageclass="_unknown"`), " 100\n"; !strings.HasSuffix(got, want) {
		t.Errorf("got %s, want%s", got, want)
	}
}

// A tracker ends with an event on its way that is older than one that it has seen: it counts from its own time, unless
// the records have it already.
func TestByteSecondsOfAnEventThatTheRunBeforeMissed(t *testing.T) {
	for _, c := range []struct {
		name           string
		seen           bool // the records have it, and the objects in the journal do not
		capacity, idle float64
	}{
		{"missed", false, 10*100 + 5*90, 10*100 + 7*70 - 10*80},
		{"in the records only", true, 10*100 + 5*90, 10*100 + 7*70 - 10*80},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newTimeline(t)
			before := &fact.Update{
				Claims:  []fact.ClaimState{boundClaim("a", 10, testNow)},
				Volumes: []fact.VolumeState{volumeIn("va", 10, fact.VolumeIdle, testNow)},
			}
			late := &fact.Update{
				Claims:  []fact.ClaimState{boundClaim("b", 5, momentAt(10))},
				Volumes: []fact.VolumeState{volumeIn("va", 10, fact.VolumeMounted, momentAt(20))},
			}
			l.at(0).apply(before)
			before.Volumes = append(before.Volumes, volumeIn("vc", 7, fact.VolumeIdle, momentAt(30)))
			l.at(31).apply(volumesUpdate(before.Volumes[1]))
			if c.seen {
				l.apply(late)
			}
			l.persist()
			l.at(40).resume(before)
			l.at(41).apply(late)
			l.want(100, c.capacity, c.idle)
		})
	}
}

func TestByteSecondsDoNotDecrease(t *testing.T) {
	l := newTimeline(t)
	l.at(0).apply(&fact.Update{
		Claims:  []fact.ClaimState{boundClaim("a", 10, ago(time.Hour))},
		Volumes: []fact.VolumeState{volumeIn("v", 10, fact.VolumeIdle, ago(time.Hour))},
	})
	l.want(100, 1000, 1000)
	l.want(50, 1000, 1000) // the clock steps back
	l.want(101, 1010, 1010)
	l.at(110).apply(volumesUpdate(volumeIn("v", 10, fact.VolumeMounted, momentAt(90)))) // learned late
	l.want(110, 1100, 1010)
	l.at(120).apply(volumesUpdate(volumeIn("v", 10, fact.VolumeIdle, momentAt(120))))
	l.want(130, 1300, 1010)
	l.want(140, 1400, 1100)
	l.persist()
	l.at(60).resume(&fact.Update{ // the clock of the run before was ahead
		Claims:  []fact.ClaimState{boundClaim("a", 10, ago(time.Hour))},
		Volumes: []fact.VolumeState{volumeIn("v", 10, fact.VolumeIdle, momentAt(120))},
	})
	first := samples(t, l.e, "kubevoltracker_namespace_capacity_byte_seconds")
	if first != samples(t, l.at(119).e, "kubevoltracker_namespace_capacity_byte_seconds") {
		t.Errorf("it began with %s, and grew before its time", first)
	}
	l.want(150, 1500, 1200)
}

func TestByteSecondsEndAnHourAfterTheNamespace(t *testing.T) {
	l := newTimeline(t)
	l.at(0).apply(claimsUpdate(boundClaim("a", 10, 0)))
	u := claimsUpdate(deletedClaim("a", 10, momentAt(5)))
	u.Facts.Namespaces = []fact.Namespace{{Name: "shop", DeletedAt: momentAt(6)}}
	l.at(6).apply(u)
	l.persist()
	l.want(7, 50, 0)
	l.at(8).restart()
	l.want(9, 50, 0)
	l.at(2 * 3600).apply(&fact.Update{Facts: fact.Facts{Namespaces: []fact.Namespace{{Name: "other", DeletedAt: momentAt(2 * 3600)}}}})
	if got := samples(t, l.e, "kubevoltracker_namespace_"); got != "" {
		t.Errorf("left are\n%s", got)
	}
	l.persist()
	if _, ok := l.journal["/byte-seconds/shop"]; ok {
		t.Error("the journal keeps them")
	}
}

// The recorder persists the byte-seconds while updates and scrapes go on; each record is of one moment.
func TestByteSecondsArePersistedWhileUpdatesGoOn(t *testing.T) {
	kept := NewTally(testNow.Time)
	e := newTestExporter()
	e.Restore(kept, func() bool { return true })
	stop := make(chan struct{})
	var wg sync.WaitGroup
	repeat := func(do func()) {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					do()
				}
			}
		})
	}
	repeat(func() {
		records, err := allRecords(kept)
		if err != nil {
			t.Error(err)
		}
		if data, ok := records["/byte-seconds/shop"]; ok {
			var r bytesRecord
			if err := json.Unmarshal(data, &r); err != nil || r.Classes["fast"].Capacity[1] != r.Classes["fast"].Idle[1] {
				t.Errorf("%v: of two moments: %s", err, data)
			}
		}
	})
	repeat(func() { get(http.HandlerFunc(e.scrape), acceptProto) })
	for i := range int64(2000) {
		c, v := boundClaim("a", i+1, ago(time.Hour)), volumeIn("va", i+1, fact.VolumeIdle, ago(time.Hour))
		e.Apply(&fact.Update{At: ago(time.Hour) + fact.Time(i), Claims: []fact.ClaimState{c}, Volumes: []fact.VolumeState{v}})
	}
	close(stop)
	wg.Wait()
}

// Two claims of nearly 8 EiB are more than an int64, and their byte-microseconds more than 64 bits.
func TestByteSecondsDoNotOverflow(t *testing.T) {
	l := newTimeline(t)
	l.at(0).apply(claimsUpdate(boundClaim("a", math.MaxInt64, testNow), boundClaim("b", math.MaxInt64, testNow), boundClaim("c", math.MaxInt64, testNow)))
	const decade = 10 * 365 * 86400
	l.want(decade, 3*math.MaxInt64*float64(decade), 0)
	l.persist()
	l.resume(claimsUpdate(boundClaim("a", math.MaxInt64, testNow), boundClaim("b", math.MaxInt64, testNow), boundClaim("c", math.MaxInt64, testNow)))
	l.want(2*decade, 3*math.MaxInt64*float64(2*decade), 0)
}

func TestIntegralArithmeticIsThatOfBigIntegers(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		var n integral
		want, at := new(big.Int), fact.Time(rnd.Int64N(1<<51))
		for range 20 {
			bytes, from := (rnd.Int64()-rnd.Int64())>>rnd.IntN(63), fact.Time(rnd.Int64N(1<<51))
			n.change(bytes, from)
			want.Add(want, new(big.Int).Mul(big.NewInt(bytes), big.NewInt(int64(at-from))))
		}
		if got := n.at(at); got.digits() != want.String() {
			t.Fatalf("got %s, want %s", got.digits(), want)
		}
		back, ok := totalFrom(want.String())
		if !ok || back != n.at(at) {
			t.Fatalf("%s is read as %v, %v", want, back, ok)
		}
		exact, _ := new(big.Float).Quo(new(big.Float).SetInt(want), big.NewFloat(1e6)).Float64()
		if got := n.at(at).seconds(); math.Abs(got-exact) > math.Abs(exact)*1e-15 {
			t.Fatalf("got %g, want %g", got, exact)
		}
	}
	for _, text := range []string{"", "x", "170141183460469231731687303715884105728", "1.5"} {
		if n, ok := totalFrom(text); ok {
			t.Errorf("%q is read as %v", text, n)
		}
	}
}

// Claims and volumes change at random, the tracker restarts, and records run ahead of the restored state: the counters
// are what a loop over all seconds adds up.
func TestByteSecondsAreThoseOfANaiveIntegration(t *testing.T) {
	for seed := range uint64(20) {
		randomHistory(t, rand.New(rand.NewPCG(seed, 1)))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// stored is a claim and its volume.
type stored struct {
	claim  fact.ClaimState
	volume fact.VolumeState
	bound  fact.Time // as the volume says
}

// bind binds the claim. Its own watch may be ahead of its volume's.
func (s *stored) bind(rnd *rand.Rand, now fact.Time) {
	s.claim.Phase, s.bound = "Bound", now
	if s.claim.AwaitsVolume = rnd.IntN(2) == 0; !s.claim.AwaitsVolume {
		s.claim.BoundAt = now
	}
}

// capacity returns the space of the claim as far as its volume has said since when it has it.
func (s *stored) capacity() int64 {
	if s.claim.Phase != "Bound" || s.claim.AwaitsVolume {
		return 0
	}
	return s.claim.CapacityBytes
}

func (s *stored) idle() bool {
	return s.volume.Status == fact.VolumeIdle || s.volume.Status == fact.VolumeNeverMounted
}

// randomChange creates, deletes, binds, grows or uses one of four claims, or does nothing. It returns the claim as it is then.
func randomChange(rnd *rand.Rand, objects map[string]stored, now fact.Time) stored {
	uid := fmt.Sprint(rnd.IntN(4))
	o, exists := objects[uid]
	switch {
	case !exists && rnd.IntN(3) > 0:
		return stored{}
	case !exists:
		bytes := 1 + rnd.Int64N(100)
		o = stored{claim: boundClaim(uid, bytes, now+1), volume: volumeIn("v"+uid, bytes, fact.VolumeNeverMounted, now)}
		o.bind(rnd, now)
	case rnd.IntN(6) == 0:
		o.claim.Gone, o.claim.DeletedNotBefore, o.volume.Gone, o.volume.DeletedNotBefore = true, now, true, now
		delete(objects, uid)
		return o
	case o.claim.AwaitsVolume:
		o.claim.AwaitsVolume, o.claim.BoundAt = false, o.bound
	case o.claim.Phase != "Bound":
		o.bind(rnd, now)
	case rnd.IntN(8) == 0:
		o.claim.Phase = []string{"Lost", "Pending"}[rnd.IntN(2)]
	case rnd.IntN(8) == 0:
		o.claim.BoundAt = now // to another volume of the same name
	case rnd.IntN(3) == 0:
		o.claim.CapacityBytes += rnd.Int64N(50)
		o.volume.CapacityBytes = o.claim.CapacityBytes
	default:
		status := []fact.VolumeStatus{fact.VolumeMounted, fact.VolumePending, fact.VolumeIdle}[rnd.IntN(3)]
		if status != o.volume.Status {
			o.volume = volumeIn("v"+uid, o.claim.CapacityBytes, status, now)
		}
	}
	objects[uid] = o
	return o
}

// othersAwait reports whether a claim but this one awaits its volume. If the records are ahead of the journal as well, what such
// a claim had before the last change of the record is lost.
func othersAwait(objects map[string]stored, uid string) bool {
	for other, o := range objects {
		if other != uid && o.claim.AwaitsVolume {
			return true
		}
	}
	return false
}

func randomHistory(t *testing.T, rnd *rand.Rand) {
	l := newTimeline(t)
	objects := map[string]stored{}
	var capacity, idle int64
	l.at(0).apply(&fact.Update{})
	for s := range int64(300) {
		known := maps.Clone(objects) // what the journal has if the tracker is killed before it commits the change
		o, u := randomChange(rnd, objects, l.at(s).now), &fact.Update{}
		if o.claim.UID != "" {
			u.Claims, u.Volumes = []fact.ClaimState{o.claim}, []fact.VolumeState{o.volume}
		}
		if known[o.claim.UID].claim.AwaitsVolume && !o.claim.Gone { // its volume says since when
			capacity += o.capacity() * int64((l.now-o.bound)/second)
		}
		l.apply(u)
		l.persist()
		if rnd.IntN(10) == 0 {
			if rnd.IntN(2) == 0 || othersAwait(known, o.claim.UID) {
				known = objects
			}
			all := &fact.Update{}
			for _, o := range known {
				all.Claims, all.Volumes = append(all.Claims, o.claim), append(all.Volumes, o.volume)
			}
			l.resume(all)
			l.apply(u) // the watch sends it again
		}
		for _, o := range objects {
			capacity += o.capacity()
			if o.idle() {
				idle += o.volume.CapacityBytes
			}
		}
		if l.e.counters.tally.parts["shop"] != nil {
			l.want(s+1, float64(capacity), float64(idle))
		}
		if t.Failed() {
			return
		}
	}
}
