package inventory

import (
	"fmt"
	"math"
	"testing"
	"unique"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// podOfVolumes is a running pod with n volumes, each mounted once. Every second one is a directory of
// the node, the others are claims.
func podOfVolumes(n int) *corev1.Pod {
	o := podOf("db-0", "p1", 4, []string{"db"})
	for i := range n {
		v, path := corev1.Volume{Name: fmt.Sprintf("vol-%d", i)}, fmt.Sprintf("/data/%d", i)
		if i%2 == 1 {
			v.HostPath = &corev1.HostPathVolumeSource{Path: path}
		} else {
			v.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: fmt.Sprintf("data-%d", i), ReadOnly: i%4 == 0}
		}
		o.Spec.Volumes = append(o.Spec.Volumes, v)
		o.Spec.Containers[0].VolumeMounts = append(o.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: v.Name, MountPath: path})
	}
	return running(o, 5)
}

// feedClaims feeds the claims of podOfVolumes, with their volumes.
func feedClaims(t testing.TB, inv *Inventory, n int) {
	for i := 0; i < n; i += 2 {
		c := pvc(fmt.Sprintf("data-%d", i), fmt.Sprintf("c%d", i), 1, fmt.Sprintf("pv-%d", i))
		v := pv(c.Spec.VolumeName, fmt.Sprintf("v%d", i), 2, c, corev1.VolumeBound, 3)
		for _, o := range []any{c, v} {
			if err := inv.Set(o, Live(at(3))); err != nil {
				t.Fatal(err)
			}
		}
	}
	inv.Take(&fact.Update{})
}

// TestPodOfManyVolumes has pods on both sides of fewMounts, and one that a scan of all volumes for each
// mount would make slow; the benchmark below shows how slow.
func TestPodOfManyVolumes(t *testing.T) {
	for _, n := range []int{1, fewMounts, fewMounts + 1, 5000} {
		inv, u, o := New(), &fact.Update{}, podOfVolumes(n)
		first := &o.Spec.Containers[0].VolumeMounts
		*first = append(*first, corev1.VolumeMount{Name: "vol-0", MountPath: "/again"}, corev1.VolumeMount{Name: "no-volume", MountPath: "/none"})
		feedClaims(t, inv, n)
		if err := inv.Set(o, Live(at(10))); err != nil {
			t.Fatal(err)
		}
		inv.Take(u)
		expect(t, "mounts", len(u.Facts.Mounts), n+1)
		for i, m := range u.Facts.Mounts {
			if i == n {
				i = 0 // it is mounted twice
			}
			claim := ""
			if i%2 == 0 {
				claim = fmt.Sprintf("data-%d", i)
			}
			got := fmt.Sprintln(m.Volume, m.ClaimName, m.ReadOnly, m.ClaimVolumes, m.InlineVolumes)
			if want := fmt.Sprintln(fmt.Sprintf("vol-%d", i), claim, i%4 == 0, (n+1)/2, n/2); got != want {
				t.Fatalf("mount %d of %d volumes: got %s, want %s", i, n, got, want)
			}
		}
		expect(t, "volumes", len(u.Volumes), (n+1)/2)
		for i := range u.Volumes {
			expect(t, "containers that use "+u.Volumes[i].Name, u.Volumes[i].Mounts, 1)
		}
	}
}

func TestCountsOfVolumesDoNotWrap(t *testing.T) {
	p := &pod{volumes: make([]podVolume, 70_000+70_001)}
	for i := range 70_000 {
		p.volumes[i].claimName = "data"
	}
	claims, inline := p.countVolumes()
	expect(t, "claims", claims, math.MaxUint16)
	expect(t, "others", inline, math.MaxUint16)
}

// TestMountOfAVolumeBeyondTheIndexHasNoRow: its index would wrap, and give it the row of another volume.
func TestMountOfAVolumeBeyondTheIndexHasNoRow(t *testing.T) {
	const last = math.MaxUint16
	o, p := podOf("db-0", "p1", 4, []string{"db"}), &pod{volumes: make([]podVolume, last+2)}
	p.containers = containerSpecs(o)
	for i := range p.volumes {
		p.volumes[i].name = unique.Make(fmt.Sprintf("vol-%d", i))
	}
	for i := range 3 {
		m := corev1.VolumeMount{Name: fmt.Sprintf("vol-%d", last-1+i), MountPath: fmt.Sprint("/data/", i)}
		o.Spec.Containers[0].VolumeMounts = append(o.Spec.Containers[0].VolumeMounts, m)
	}
	mounts := podMounts(o, p, 0)
	expect(t, "mounts", len(mounts), 2)
	expect(t, "volume of the last one", mounts[1].volume, last)
}

func BenchmarkPodOfManyVolumes(b *testing.B) {
	for _, n := range []int{5, 50, 2500, 5000, 10_000} {
		b.Run(fmt.Sprintf("arrives/volumes=%d", n), func(b *testing.B) {
			o := podOfVolumes(n)
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				inv, u := New(), &fact.Update{}
				feedClaims(b, inv, n)
				b.StartTimer()
				feed(b, inv, u, o, at(10))
			}
		})
		again := func(name string, happen func(i int, s *corev1.ContainerStatus, feed func(seen int))) {
			b.Run(fmt.Sprintf("%s/volumes=%d", name, n), func(b *testing.B) {
				inv, u, o := New(), &fact.Update{}, podOfVolumes(n)
				feedClaims(b, inv, n)
				feed(b, inv, u, o, at(10))
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					happen(i, &o.Status.ContainerStatuses[0], func(seen int) { feed(b, inv, u, o, at(seen)) })
				}
			})
		}
		again("restarts", func(_ int, s *corev1.ContainerStatus, feed func(int)) {
			s.RestartCount++
			feed(20)
		})
		again("crashes", func(i int, s *corev1.ContainerStatus, feed func(int)) { // every container ends, and starts again
			s.State = terminated(10*i+5, 10*i+12, 1, "Error")
			feed(10*i + 12)
			s.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: second(10*i + 15)}}
			s.RestartCount++
			feed(10*i + 15)
		})
	}
}
