package exporter

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

func TestVolumeExposition(t *testing.T) {
	e := newTestExporter()
	e.Apply(volumesUpdate(testVolume()))
	wantText(t, scrapeText(t, e, "kubevoltracker_volume_"), `
# HELP kubevoltracker_volume_capacity_bytes Size of the volume, as its PersistentVolume says.
# TYPE kubevoltracker_volume_capacity_bytes gauge
kubevoltracker_volume_capacity_bytes{persistentvolume="pv-1"} 10737418240
# HELP kubevoltracker_volume_idle_observed_seconds How much of volume_idle_seconds was watched, or vouched for by the claim's condition Unused: the time before the first tracker came, and gaps in which none watched, are left out. It lags by up to a minute or two while no pod changes. 0 while a container uses the volume or a pod that has not started awaits it.
# TYPE kubevoltracker_volume_idle_observed_seconds gauge
kubevoltracker_volume_idle_observed_seconds{persistentvolume="pv-1",namespace="shop",persistentvolumeclaim="data-mysql-0",storageclass="fast"} 0
# HELP kubevoltracker_volume_idle_seconds For how long nobody has used the volume, the longest it can be: since its last use, or if none is known since it was bound or created. volume_idle_observed_seconds is the part that was watched. 0 while a container uses it or a pod that has not started awaits it.
# TYPE kubevoltracker_volume_idle_seconds gauge
kubevoltracker_volume_idle_seconds{persistentvolume="pv-1",namespace="shop",persistentvolumeclaim="data-mysql-0",storageclass="fast"} 0
# HELP kubevoltracker_volume_info What the volume is and whose: its claim (of a released volume, the last one), storage class, kind of backing store, CSI or flexVolume driver, reclaim policy and the claim's owner. Always 1; join with it on persistentvolume.
# TYPE kubevoltracker_volume_info gauge
kubevoltracker_volume_info{persistentvolume="pv-1",namespace="shop",persistentvolumeclaim="data-mysql-0",storageclass="fast",source="nfs",driver="",reclaim_policy="Retain",owner="anna"} 1
# HELP kubevoltracker_volume_mounts How many containers use the volume now.
# TYPE kubevoltracker_volume_mounts gauge
kubevoltracker_volume_mounts{persistentvolume="pv-1"} 2
# HELP kubevoltracker_volume_state What the volume is doing: mounted, pending (a pod that has not started awaits it), idle (used before, not now), never_mounted, available (no claim yet), released (its claim is gone) or failed. Only the present state has a series, with the value 1.
# TYPE kubevoltracker_volume_state gauge
kubevoltracker_volume_state{persistentvolume="pv-1",namespace="shop",persistentvolumeclaim="data-mysql-0",storageclass="fast",state="mounted"} 1
# HELP kubevoltracker_volume_state_changed_timestamp_seconds When the volume came into its present state. Absent where that is not known: before Kubernetes 1.28 nothing tells when a volume was released.
# TYPE kubevoltracker_volume_state_changed_timestamp_seconds gauge
kubevoltracker_volume_state_changed_timestamp_seconds{persistentvolume="pv-1"} 1767319445
`)
}

func TestVolumeInEachState(t *testing.T) {
	const day = 24 * time.Hour
	families := []string{
		"kubevoltracker_volume_idle_s", "kubevoltracker_volume_last", "kubevoltracker_volume_mounts", "kubevoltracker_volume_state{",
	}
	for _, tc := range []struct {
		status fact.VolumeStatus
		change func(v *fact.VolumeState)
		want   string
	}{
		{fact.VolumeMounted, func(v *fact.VolumeState) {}, `
kubevoltracker_volume_idle_seconds{persistentvolume="pv-1",namespace="shop",persistentvolumeclaim="data-mysql-0",storageclass="fast"} 0
kubevoltracker_volume_mounts{persistentvolume="pv-1"} 2
kubevoltracker_volume_state{persistentvolume="pv-1",namespace="shop",persistentvolumeclaim="data-mysql-0",storageclass="fast",state="mounted"} 1
`},
		{fact.VolumePending, func(v *fact.VolumeState) {
			v.Mounts, v.LastUsed = 0, ago(2*day)
		}, `
kubevoltracker_volume_idle_seconds{persistentvolume="pv-1",namespace="shop",persistentvolumeclaim="data-mysql-0",storageclass="fast"} 0
kubevoltracker_volume_last_used_timestamp_seconds{persistentvolume="pv-1"} 1767150245
kubevoltracker_volume_mounts{persistentvolume="pv-1"} 0
kubevoltracker_volume_state{persistentvolume="pv-1",namespace="shop",persistentvolumeclaim="data-mysql-0",storageclass="fast",state="pending"} 1
`},
		{fact.VolumeIdle, func(v *fact.VolumeState) {
			v.Mounts, v.LastUsed, v.IdleSince = 0, ago(41*day)+250000, ago(41*day)+250000
		}, `
kubevoltracker_volume_idle_seconds{persistentvolume="pv-1",namespace="shop",persistentvolumeclaim="data-mysql-0",storageclass="fast"} 3542399
kubevoltracker_volume_last_used_timestamp_seconds{persistentvolume="pv-1"} 1763780645.25
kubevoltracker_volume_mounts{persistentvolume="pv-1"} 0
kubevoltracker_volume_state{persistentvolume="pv-1",namespace="shop",persistentvolumeclaim="data-mysql-0",storageclass="fast",state="idle"} 1
`},
		{fact.VolumeNeverMounted, func(v *fact.VolumeState) {
			v.Mounts, v.IdleSince = 0, ago(day)
		}, `
kubevoltracker_volume_idle_seconds{persistentvolume="pv-1",namespace="shop",persistentvolumeclaim="data-mysql-0",storageclass="fast"} 86400
kubevoltracker_volume_mounts{persistentvolume="pv-1"} 0
kubevoltracker_volume_state{persistentvolume="pv-1",namespace="shop",persistentvolumeclaim="data-mysql-0",storageclass="fast",state="never_mounted"} 1
`},
		{fact.VolumeAvailable, func(v *fact.VolumeState) {
			v.Namespace, v.Claim, v.Owner, v.Mounts, v.IdleSince = "", "", "", 0, ago(time.Minute)
		}, `
kubevoltracker_volume_idle_seconds{persistentvolume="pv-1",namespace="",persistentvolumeclaim="",storageclass="fast"} 60
kubevoltracker_volume_mounts{persistentvolume="pv-1"} 0
kubevoltracker_volume_state{persistentvolume="pv-1",namespace="",persistentvolumeclaim="",storageclass="fast",state="available"} 1
`},
		{fact.VolumeReleased, func(v *fact.VolumeState) {
			v.Mounts, v.LastUsed, v.IdleSince = 0, ago(day), ago(day)
		}, `
kubevoltracker_volume_idle_seconds{persistentvolume="pv-1",namespace="shop",persistentvolumeclaim="data-mysql-0",storageclass="fast"} 86400
kubevoltracker_volume_last_used_timestamp_seconds{persistentvolume="pv-1"} 1767236645
kubevoltracker_volume_mounts{persistentvolume="pv-1"} 0
kubevoltracker_volume_state{persistentvolume="pv-1",namespace="shop",persistentvolumeclaim="data-mysql-0",storageclass="fast",state="released"} 1
`},
		{fact.VolumeFailed, func(v *fact.VolumeState) {
			v.Mounts, v.IdleSince = 0, testNow+5e6 // the API server's clock is ahead
		}, `
kubevoltracker_volume_idle_seconds{persistentvolume="pv-1",namespace="shop",persistentvolumeclaim="data-mysql-0",storageclass="fast"} 0
kubevoltracker_volume_mounts{persistentvolume="pv-1"} 0
kubevoltracker_volume_state{persistentvolume="pv-1",namespace="shop",persistentvolumeclaim="data-mysql-0",storageclass="fast",state="failed"} 1
`},
	} {
		t.Run(string(tc.status), func(t *testing.T) {
			e := newTestExporter()
			v := testVolume()
			v.Status = tc.status
			tc.change(&v)
			e.Apply(volumesUpdate(v))
			wantText(t, samples(t, e, families...), tc.want)
		})
	}
}

func TestVolumeAsAKubeletMeasuredIt(t *testing.T) {
	e := newTestExporter()
	v := testVolume()
	v.UsedBytes, v.AvailableBytes, v.Inodes, v.InodesUsed, v.Measured = 700, 300, 50, 0, true
	families := []string{"kubevoltracker_volume_used", "kubevoltracker_volume_available", "kubevoltracker_volume_inodes"}
	e.Apply(volumesUpdate(v))
	wantText(t, samples(t, e, families...), `
kubevoltracker_volume_available_bytes{persistentvolume="pv-1"} 300
kubevoltracker_volume_inodes{persistentvolume="pv-1"} 50
kubevoltracker_volume_inodes_used{persistentvolume="pv-1"} 0
kubevoltracker_volume_used_bytes{persistentvolume="pv-1"} 700
`)
	v.AvailableBytes, v.Inodes = 0, 0 // a full file system that makes inodes as it needs them
	e.Apply(volumesUpdate(v))
	wantText(t, samples(t, e, families...), `
kubevoltracker_volume_available_bytes{persistentvolume="pv-1"} 0
kubevoltracker_volume_used_bytes{persistentvolume="pv-1"} 700
`)
	v.Measured = false
	e.Apply(volumesUpdate(v))
	wantText(t, samples(t, e, families...), "")
}

func TestDeletedVolumeIsGoneFromTheNextScrape(t *testing.T) {
	e := newTestExporter()
	var vs []fact.VolumeState
	for _, name := range []string{"a", "b", "c", "d"} {
		v := testVolume()
		v.UID, v.Name = name, name
		vs = append(vs, v)
	}
	e.Apply(volumesUpdate(vs...))
	left := func() string {
		var names []string
		for line := range strings.Lines(samples(t, e, "kubevoltracker_volume_mounts")) {
			_, name, _ := strings.Cut(line, `"`)
			names = append(names, name[:1])
		}
		return strings.Join(names, "")
	}
	for _, step := range []struct{ gone, want string }{{"b", "adc"}, {"c", "ad"}, {"a", "d"}, {"b", "d"}, {"d", ""}} {
		e.Apply(volumesUpdate(fact.VolumeState{UID: step.gone, Name: step.gone, Gone: true}))
		if got := left(); got != step.want {
			t.Errorf("after %s went: volumes %q are left, want %q", step.gone, got, step.want)
		}
	}
	if got := scrapeText(t, e, "kubevoltracker_volume_"); got != "" {
		t.Errorf("families without a volume are still there:\n%s", got)
	}
}

func TestApplyKeepsNothingOfTheUpdatesMemory(t *testing.T) {
	e := newTestExporter()
	u := &fact.Update{
		Volumes: []fact.VolumeState{testVolume()},
		Claims:  []fact.ClaimState{testClaim()},
	}
	e.Apply(u)
	before := samples(t, e, "kubevoltracker_volume_", "kubevoltracker_namespace_")
	u.Volumes[0] = fact.VolumeState{Name: "other", Namespace: "other"}
	u.Claims[0] = fact.ClaimState{Namespace: "other"}
	wantText(t, samples(t, e, "kubevoltracker_volume_", "kubevoltracker_namespace_"), before)
}

func TestPerVolumeFamiliesCanBeOff(t *testing.T) {
	e := New(Options{Registry: prometheus.NewRegistry(), Now: testNow.Time})
	e.Apply(&fact.Update{
		Volumes: []fact.VolumeState{testVolume()},
		Claims:  []fact.ClaimState{testClaim()},
	})
	if got := samples(t, e, "kubevoltracker_volume_"); got != "" {
		t.Errorf("series per volume:\n%s", got)
	}
	wantText(t, samples(t, e, "kubevoltracker_namespace_bound"),
		`kubevoltracker_namespace_bound_volumes{namespace="shop",storageclass="fast"} 1`+"\n")
	e.Apply(volumesUpdate(fact.VolumeState{UID: "u1", Gone: true}))
}

func TestLabelValuesAreEscapedAndBounded(t *testing.T) {
	e := newTestExporter()
	v := testVolume()
	v.Owner = "a\\b\"c\nd}é\xff" + strings.Repeat("ü", 1000)
	e.Apply(volumesUpdate(v))
	// 1,024 bytes are kept, less half a character.
	owner := `a\\b\"c\nd}é?` + strings.Repeat("ü", 506)
	wantText(t, samples(t, e, "kubevoltracker_volume_info"),
		`kubevoltracker_volume_info{persistentvolume="pv-1",namespace="shop",persistentvolumeclaim="data-mysql-0",storageclass="fast",source="nfs",driver="",reclaim_policy="Retain",owner="`+owner+`"} 1`+"\n")
}
