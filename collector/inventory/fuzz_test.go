package inventory

import (
	"encoding/binary"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// A fuzzed sequence is a run of steps: a byte for what happens to which kind,
// the length of an object, and the object as the API server sends it, in
// protobuf.
type message interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

func fuzzedObject(kind byte) message {
	switch kind % 4 {
	case 0:
		return &storagev1.StorageClass{}
	case 1:
		return &corev1.PersistentVolume{}
	case 2:
		return &corev1.PersistentVolumeClaim{}
	default:
		return &corev1.Pod{}
	}
}

func appendStep(t testing.TB, sequence []byte, step byte, o message) []byte {
	data, err := o.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append(binary.AppendUvarint(append(sequence, step), uint64(len(data))), data...)
}

// FuzzObjects feeds arbitrary objects in arbitrary order. Nothing panics, what is
// counted in is counted out, and when all is gone nothing is left.
func FuzzObjects(f *testing.F) {
	claim := pvc("data", "c1", 1, "vol")
	volume := pv("vol", "v1", 2, claim, corev1.VolumeBound, 3)
	user := podOf("db-0", "p1", 4, []string{"db"}, "data")
	var sequence []byte
	for _, step := range []struct {
		step byte
		o    message
	}{
		{0, storageClass("fast", "s1")}, {2, claim}, {1, volume}, {3, user}, {3, running(user, 5)},
		{3 + 4, ended(user, corev1.PodSucceeded, 5, 9, 0, "Completed")}, {2 + 4, claim}, {1, pv("vol", "v1", 2, claim, corev1.VolumeReleased, 10)},
	} {
		sequence = appendStep(f, sequence, step.step, step.o)
		f.Add(sequence)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		inv := New()
		var u fact.Update
		now := at(0)
		for len(data) > 0 {
			step := data[0]
			n, w := binary.Uvarint(data[1:])
			if w <= 0 || n > uint64(len(data)-1-w) {
				break
			}
			o := fuzzedObject(step)
			err := o.Unmarshal(data[1+w : 1+w+int(n)])
			data = data[1+w+int(n):]
			if err != nil {
				continue
			}
			now += fact.Time(step) * 1e6
			if step&4 == 0 {
				err = inv.Set(o, Observation{At: now, NotBefore: now, Found: step&8 != 0})
			} else {
				err = inv.Delete(o, Live(now))
			}
			if err != nil {
				t.Fatal(err)
			}
			inv.Take(&u)
			checkCounts(t, inv)
		}
		for _, kind := range fact.Kinds() {
			if err := inv.Replace(kind, nil, Live(now)); err != nil {
				t.Fatal(err)
			}
		}
		inv.Take(&u)
		checkCounts(t, inv)
		// All is forgotten once it has been gone for long enough; a claim waits for its pods.
		for range 4 {
			now += 2 * retention
			inv.evict(now)
		}
		if n := len(inv.claimNames) + len(inv.volumeNames) + len(inv.volumeOf) + len(inv.sources) + len(inv.tombstones) + len(inv.podTombstones) + len(inv.podNames) +
			len(inv.unbound) + len(inv.awaited) + len(inv.lives) + len(inv.past) + len(inv.dead) + len(inv.goneVolumes) + len(inv.claimants) + len(inv.nodes); n != 0 {
			t.Errorf("%d entries are left: %v %v %v %v", n, inv.claimNames, inv.volumeNames, inv.volumeOf, inv.sources)
		}
	})
}

// checkCounts compares what claims and volumes have counted with what the pods say.
func checkCounts(t *testing.T, inv *Inventory) {
	t.Helper()
	pending, active, lastUse := map[*claim]int32{}, map[*volume]int32{}, map[*volume]fact.Time{}
	inv.eachPod(func(p *pod) {
		for i := range p.volumes {
			u := &p.volumes[i]
			if u.pending {
				pending[u.claim]++
			}
			if u.volume != nil {
				active[u.volume] += u.active
				lastUse[u.volume] = max(lastUse[u.volume], u.lastUse)
			}
		}
	})
	for _, c := range inv.claims {
		if c.pending != pending[c] {
			t.Fatalf("claim %v counts %d pods that await it, its pods say %d", c.name, c.pending, pending[c])
		}
	}
	for _, v := range inv.volumes {
		if v.active != active[v] || v.lastUse != max(lastUse[v], v.savedUse) {
			t.Fatalf("volume %s counts %d in use and a last use at %d, the pods say %d and %d", v.name, v.active, v.lastUse, active[v], lastUse[v])
		}
	}
}

// FuzzSequences plays steps of few bytes each over few names and UIDs, so that
// objects meet: claims and pods of one name, volumes claimed in turn, containers
// that end and start.
func FuzzSequences(f *testing.F) {
	f.Add([]byte{0x00, 0x01, 0x11, 0x02, 0x21, 0x03, 0x31})
	f.Add([]byte{0x02, 0x00, 0x12, 0x10, 0x03, 0x04, 0x23, 0x14, 0x07, 0x24, 0x06, 0x00, 0x01, 0x31, 0x41, 0x22})
	f.Fuzz(func(t *testing.T, data []byte) {
		inv := New()
		var u fact.Update
		for i := 0; i+2 < len(data); i += 3 {
			moment := i/3 + 1
			take := inv.Set
			if data[i]&0x80 != 0 {
				take = inv.Delete
			}
			if err := take(steppedObject(data[i], data[i+1], data[i+2], moment), Live(at(moment))); err != nil {
				t.Fatal(err)
			}
			inv.Take(&u)
			checkCounts(t, inv)
			for _, m := range u.Facts.Mounts {
				if m.EndedAt != 0 && (m.EndedAt < m.StartedAt || m.EndedNotBefore > m.EndedAt) {
					t.Fatalf("an interval that is none: %+v", m)
				}
			}
			for _, s := range u.Volumes {
				if (s.Status == fact.VolumeMounted) != (s.Mounts > 0) || s.Mounts < 0 {
					t.Fatalf("%+v", s)
				}
			}
		}
	})
}

// steppedObject is the object of one step of FuzzSequences.
func steppedObject(kind, which, how byte, moment int) any {
	uid, other := string('a'+rune(which%3)), string('a'+rune(which/3%3))
	name := string('x' + rune(which/9%2))
	switch kind % 3 {
	case 0:
		volume := ""
		if how&1 != 0 {
			volume = "vol-" + other
		}
		return pvc(name, "claim-"+uid, moment-int(how>>5), volume)
	case 1:
		phases := []corev1.PersistentVolumePhase{corev1.VolumeAvailable, corev1.VolumeBound, corev1.VolumeReleased, corev1.VolumeFailed}
		var claim *corev1.PersistentVolumeClaim
		if how&4 != 0 {
			claim = pvc(name, "claim-"+other, 0, "")
		}
		return pv("vol-"+uid, "volume-"+uid, 0, claim, phases[how%4], moment)
	}
	p := podOf("pod-"+other, "pod-"+uid, 0, []string{"main", "side"}, name)
	switch how % 4 {
	case 1:
		return running(p, moment)
	case 2:
		return ended(p, corev1.PodSucceeded, moment-1, moment, 0, "Completed")
	case 3:
		return ended(p, corev1.PodRunning, moment-1, moment, 1, "Error")
	}
	return p
}
