package inventory

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// The cases of the prototype's own tests: what it got right, and what it had to
// mend later, we get right from whatever order.
func TestPrototypesCases(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	waiting := pvc("data", "c1", 1, "")
	volume := pv("vol", "v1", 1, claim, corev1.VolumeBound, 3)
	free := pv("vol", "v1", 1, nil, corev1.VolumeAvailable, 1)
	pending := podOf("db-0", "p1", 4, []string{"db"}, "data")
	user := running(pending, 5)
	const mounted = "c1@v1 5-"
	for name, events := range map[string][]event{
		"in order":              {set(1, waiting), set(1, free), set(3, volume), set(3, claim), set(4, pending), set(5, user)},
		"late claim":            {set(3, volume), set(4, pending), set(5, user), set(6, claim)},
		"late pod":              {set(3, volume), set(6, claim), set(60, user)},
		"late both":             {set(3, volume), set(60, user), set(61, claim)},
		"late volume":           {set(4, pending), set(5, user), set(6, claim), set(7, volume)},
		"binding by the claim":  {set(1, waiting), set(1, free), set(3, claim), set(3, volume), set(5, user)},
		"binding by the volume": {set(1, waiting), set(1, free), set(3, volume), set(3, claim), set(5, user)},
		"binding after the use": {set(1, waiting), set(1, free), set(4, pending), set(5, user), set(6, volume), set(7, claim)},
	} {
		t.Run(name, func(t *testing.T) {
			_, h := play(t, events...)
			expect(t, "mount", h.mount("p1", "db", "/data"), mounted)
			expect(t, "binding", h.bindings[[2]string{"c1", "v1"}].BoundAt, at(3))
			expect(t, "the claim's volume", h.claims["c1"].VolumeUID, "v1")
			expect(t, "state", h.states["v1"].Status, fact.VolumeMounted)
		})
	}
}

func TestWrongMatchIsMended(t *testing.T) {
	// A pod that has started is seen while a younger claim of the name its claim
	// had is the only one known. That of the name's former bearer comes late.
	former, latter := pvc("data", "c1", 1, ""), pvc("data", "c2", 20, "")
	o := podOf("job", "p1", 4, []string{"main"}, "data")
	_, h := play(t, set(21, latter), set(22, running(o, 5)))
	expect(t, "as far as is known", h.mount("p1", "main", "/data"), "c2@ 5-")
	_, h = play(t, set(21, latter), set(22, running(o, 5)), set(23, former), gone(24, former), set(25, latter))
	expect(t, "mended", h.mount("p1", "main", "/data"), "c1@ 5-")
}

func TestSeveralClaimsOfAPod(t *testing.T) {
	data, logs := pvc("data", "c1", 1, "vol-1"), pvc("logs", "c2", 1, "vol-2")
	o := podOf("db-0", "p1", 4, []string{"db", "shipper"}, "data", "logs")
	o.Spec.Containers[1].VolumeMounts = []corev1.VolumeMount{{Name: "vol-1", MountPath: "/in", ReadOnly: true}}
	_, h := play(t, set(1, data), set(1, logs), set(3, pv("vol-1", "v1", 1, data, corev1.VolumeBound, 3)),
		set(3, pv("vol-2", "v2", 1, logs, corev1.VolumeBound, 3)), set(5, running(o, 5)))
	expect(t, "data", h.mount("p1", "db", "/data"), "c1@v1 5-")
	expect(t, "logs", h.mount("p1", "db", "/logs"), "c2@v2 5-")
	expect(t, "logs, the other container", h.mount("p1", "shipper", "/in"), "c2@v2 5-")
	expect(t, "mounts", len(h.mounts), 3)
	expect(t, "users of the logs", h.states["v2"].Mounts, 2)
	for _, m := range h.mounts {
		expect(t, m.Container+m.MountPath+" is read-only", m.ReadOnly, m.Container == "shipper")
	}
}

func TestVolumesOfISCSIAndNFSOneAfterTheOther(t *testing.T) {
	// The API does not let a volume's source change: another one of the same name
	// is another volume, on another store.
	nfs := pv("vol", "v1", 1, nil, corev1.VolumeAvailable, 1)
	iscsi := pv("vol", "v2", 9, nil, corev1.VolumeAvailable, 9)
	iscsi.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{ISCSI: &corev1.ISCSIPersistentVolumeSource{
		TargetPortal: "san.example:3260", IQN: "iqn.2016-06.example:erp", Lun: 7,
	}}
	inv, h := play(t, set(1, nfs), gone(8, nfs), set(9, iscsi))
	expect(t, "first", h.sources[h.volumes["v1"].SourceID].Kind, "nfs")
	second := h.sources[h.volumes["v2"].SourceID]
	expect(t, "second", second.Kind+" "+second.Server, "iscsi san.example:3260")
	expect(t, "stores that are held: the first may still be spoken of", len(inv.sources), 2)
	inv.evict(at(8) + retention + 1)
	expect(t, "and is let go of", len(inv.sources), 1)
}

func TestLargeVolumes(t *testing.T) {
	o := pv("vol", "v1", 1, nil, corev1.VolumeAvailable, 1)
	o.Spec.Capacity[corev1.ResourceStorage] = resource.MustParse("7Pi")
	_, h := play(t, set(1, o))
	expect(t, "bytes", h.volumes["v1"].CapacityBytes, 7<<50)
	expect(t, "in words", bytesText(h.volumes["v1"].CapacityBytes), "7Pi")
}
