package exporter

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

func TestNamespaceExposition(t *testing.T) {
	e := newTestExporter()
	idle := testVolume()
	idle.UID, idle.Name, idle.Status, idle.CapacityBytes = "u2", "pv-2", fact.VolumeIdle, 3
	never := testVolume()
	never.UID, never.Name, never.Status, never.CapacityBytes = "u3", "pv-3", fact.VolumeNeverMounted, 4
	released := testVolume()
	released.UID, released.Name, released.Status = "u4", "pv-4", fact.VolumeReleased
	for used, v := range []*fact.VolumeState{&idle, &never, &released} {
		v.UsedBytes, v.Measured = int64(used+1), true
	}
	block := testVolume()
	block.UID, block.Name, block.Block = "u5", "pv-5", true
	mounted := testVolume()
	mounted.UsedBytes, mounted.Measured = 10, true
	claim := func(uid, namespace, class, phase string, requested, capacity int64) fact.ClaimState {
		return fact.ClaimState{UID: uid, Namespace: namespace, StorageClass: class, Phase: phase,
			RequestedBytes: requested, CapacityBytes: capacity}
	}
	waits := claim("c4", "shop", "fast", "", 8, 0)
	waits.PendingSince = ago(time.Hour)
	e.Apply(&fact.Update{
		Volumes: []fact.VolumeState{mounted, idle, never, released, block},
		Claims: []fact.ClaimState{
			claim("c1", "shop", "fast", "Bound", 1, 10),
			claim("c2", "shop", "fast", "Bound", 2, 20),
			claim("c3", "shop", "fast", "Bound", 4, 40),
			waits,
			claim("c5", "lab", "", "Lost", 16, 0),
		},
	})
	wantText(t, gauges(t, e, "kubevoltracker_namespace_"), `
kubevoltracker_namespace_bound_volumes{namespace="lab",storageclass=""} 0
kubevoltracker_namespace_bound_volumes{namespace="shop",storageclass="fast"} 3
kubevoltracker_namespace_capacity_bytes{namespace="lab",storageclass=""} 0
kubevoltracker_namespace_capacity_bytes{namespace="shop",storageclass="fast"} 70
kubevoltracker_namespace_claim_pending_seconds{namespace="lab",storageclass=""} 0
kubevoltracker_namespace_claim_pending_seconds{namespace="shop",storageclass="fast"} 3600
kubevoltracker_namespace_claims{namespace="lab",storageclass="",phase="Pending"} 0
kubevoltracker_namespace_claims{namespace="lab",storageclass="",phase="Bound"} 0
kubevoltracker_namespace_claims{namespace="lab",storageclass="",phase="Lost"} 1
kubevoltracker_namespace_claims{namespace="shop",storageclass="fast",phase="Pending"} 1
kubevoltracker_namespace_claims{namespace="shop",storageclass="fast",phase="Bound"} 3
kubevoltracker_namespace_claims{namespace="shop",storageclass="fast",phase="Lost"} 0
kubevoltracker_namespace_idle_bytes{namespace="lab",storageclass=""} 0
kubevoltracker_namespace_idle_bytes{namespace="shop",storageclass="fast"} 7
kubevoltracker_namespace_idle_volumes{namespace="lab",storageclass=""} 0
kubevoltracker_namespace_idle_volumes{namespace="shop",storageclass="fast"} 2
kubevoltracker_namespace_requested_bytes{namespace="lab",storageclass=""} 16
kubevoltracker_namespace_requested_bytes{namespace="shop",storageclass="fast"} 15
kubevoltracker_namespace_unmeasured_volumes{namespace="lab",storageclass=""} 0
kubevoltracker_namespace_unmeasured_volumes{namespace="shop",storageclass="fast"} 0
kubevoltracker_namespace_used_bytes{namespace="shop",storageclass="fast"} 13
`)
}

// A sum that lacks a volume is wrong: it is absent until all volumes that have been used are measured.
func TestUsedBytesAreOfAllVolumesOrAbsent(t *testing.T) {
	const absent = ""
	volume := func(change func(v *fact.VolumeState)) fact.VolumeState {
		v := testVolume()
		v.UID, v.Name = "u2", "pv-2"
		change(&v)
		return v
	}
	for _, tc := range []struct {
		name  string
		other fact.VolumeState
		want  string
	}{
		{"mounted and measured", volume(func(v *fact.VolumeState) { v.UsedBytes, v.Measured = 5, true }), "12"},
		{"mounted, and no kubelet has reported", volume(func(*fact.VolumeState) {}), absent},
		{"idle, and never reported", volume(func(v *fact.VolumeState) { v.Status = fact.VolumeIdle }), absent},
		{"awaited after an earlier use", volume(func(v *fact.VolumeState) { v.Status = fact.VolumePending }), absent},
		{"awaited for the first time", volume(func(v *fact.VolumeState) { v.Status, v.Used = fact.VolumePending, false }), "7"},
		{"never mounted", volume(func(v *fact.VolumeState) { v.Status, v.Used = fact.VolumeNeverMounted, false }), "7"},
		{"a block device", volume(func(v *fact.VolumeState) { v.Block = true }), "7"},
		{"released", volume(func(v *fact.VolumeState) { v.Status = fact.VolumeReleased }), "7"},
		{"of another class", volume(func(v *fact.VolumeState) { v.ClaimClass = "slow" }), "7"},
		{"whose claim has another class than it", volume(func(v *fact.VolumeState) { v.StorageClass = "slow" }), absent},
		{"deleted", volume(func(v *fact.VolumeState) { v.Gone = true }), "7"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := newTestExporter()
			measured := testVolume()
			measured.UsedBytes, measured.Measured = 7, true
			unmeasured := volume(func(*fact.VolumeState) {})
			e.Apply(&fact.Update{Volumes: []fact.VolumeState{measured, unmeasured}, Claims: []fact.ClaimState{testClaim()}})
			wantText(t, samples(t, e, "kubevoltracker_namespace_unmeasured"), `
kubevoltracker_namespace_unmeasured_volumes{namespace="shop",storageclass="fast"} 1
`)
			if got := samples(t, e, "kubevoltracker_namespace_used_bytes"); got != absent {
				t.Errorf("before: %s", got)
			}
			e.Apply(volumesUpdate(tc.other))
			want := absent
			if tc.want != absent {
				want = fmt.Sprintf("kubevoltracker_namespace_used_bytes{namespace=\"shop\",storageclass=\"fast\"} %s\n", tc.want)
			}
			wantText(t, samples(t, e, "kubevoltracker_namespace_used_bytes"), want)
		})
	}
}

func TestNamespaceEndsWithItsLastClaim(t *testing.T) {
	e := newTestExporter()
	e.Apply(&fact.Update{
		Volumes: []fact.VolumeState{testVolume()},
		Claims:  []fact.ClaimState{testClaim()},
	})
	gone := testClaim()
	gone.Gone = true
	e.Apply(claimsUpdate(gone))
	if got := gauges(t, e, "kubevoltracker_namespace_"); got != "" {
		t.Errorf("series are left, although only a released volume is:\n%s", got)
	}
	if len(e.namespaces.groups) != 1 {
		t.Errorf("%d groups are kept for the volume, want 1", len(e.namespaces.groups))
	}
	e.Apply(volumesUpdate(fact.VolumeState{UID: "u1", Gone: true}))
	if len(e.namespaces.groups) != 0 {
		t.Errorf("%d groups are kept for nothing", len(e.namespaces.groups))
	}
}

// The sums are kept by differences; after any history they must be what a fresh
// exporter sums up from the last states.
func TestNamespaceSumsDoNotDrift(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	pick := func(ss ...string) string { return ss[rnd.IntN(len(ss))] }
	e := newTestExporter()
	volumes := map[string]fact.VolumeState{}
	claims := map[string]fact.ClaimState{}
	for range 5000 {
		v := testVolume()
		v.UID = pick("1", "2", "3", "4", "5")
		v.Namespace, v.ClaimClass = pick("", "a", "b"), pick("x", "y")
		v.Status = fact.VolumeStatus(pick("idle", "mounted", "never_mounted", "released"))
		v.CapacityBytes, v.Gone = rnd.Int64N(100), rnd.IntN(3) == 0
		v.UsedBytes, v.Measured = rnd.Int64N(100), rnd.IntN(2) == 0
		v.Used, v.Block = rnd.IntN(2) == 0, rnd.IntN(2) == 0
		c := testClaim()
		c.UID = pick("1", "2", "3", "4", "5")
		c.Namespace, c.StorageClass = pick("a", "b"), pick("x", "y")
		c.PendingSince = fact.Time(rnd.Int64N(3)) * testNow / 3
		c.Phase = pick("", "Pending", "Bound", "Lost")
		c.RequestedBytes, c.CapacityBytes, c.Gone = rnd.Int64N(100), rnd.Int64N(100), rnd.IntN(3) == 0
		e.Apply(&fact.Update{Volumes: []fact.VolumeState{v}, Claims: []fact.ClaimState{c}})
		volumes[v.UID], claims[c.UID] = v, c
	}
	var last fact.Update
	for _, v := range volumes {
		last.Volumes = append(last.Volumes, v)
	}
	for _, c := range claims {
		last.Claims = append(last.Claims, c)
	}
	fresh := newTestExporter()
	fresh.Apply(&last)
	wantText(t, gauges(t, e, "kubevoltracker_namespace_"), gauges(t, fresh, "kubevoltracker_namespace_"))
	if got, want := len(e.namespaces.groups), len(fresh.namespaces.groups); got != want {
		t.Errorf("%d groups are kept, want %d", got, want)
	}
	if got, want := len(e.namespaces.waiting), len(fresh.namespaces.waiting); got != want {
		t.Errorf("%d groups wait, want %d", got, want)
	}
}
