package history

import (
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

const provisioner = "disk.example.com"

// capacity is a CSIStorageCapacity, with what a tracker has seen of it.
type capacity struct {
	uid, class, zone string
	bytes, most      int64 // most is 0 if the driver does not say it
	seen             []offered
}

// offered is what a driver offered from a moment on.
type offered struct {
	at          fact.Time
	bytes, most int64
}

// makeCapacities makes two parts of the storage of each class.
func (w *world) makeCapacities() {
	for _, class := range w.classes {
		for _, zone := range []string{"a", "b"} {
			w.capacities = append(w.capacities, &capacity{uid: "capacity-" + class + "-" + zone, class: class, zone: zone, bytes: 1 << 40})
		}
	}
}

// turn changes what one part offers; not by the world's random numbers, so that the rest stays as it is.
func (w *world) turn() *capacity {
	n := int64(w.clock / second)
	c := w.capacities[n%int64(len(w.capacities))]
	c.bytes, c.most = n%1000<<30, n%3<<33
	return c
}

// see notes what a tracker writes of a part: what differs from before.
func (c *capacity) see(at fact.Time) {
	if n := len(c.seen); n == 0 || c.seen[n-1].bytes != c.bytes || c.seen[n-1].most != c.most {
		c.seen = append(c.seen, offered{at, c.bytes, c.most})
	}
}

// offer lets a driver report, mostly something new.
func (w *world) offer() {
	w.tick()
	c := w.capacities[0]
	if w.clock/second%4 > 0 {
		c = w.turn()
	}
	c.see(w.clock)
	w.tracker.set(w.capacityObject(c), w.clock)
}

func (w *world) listCapacities(lists map[fact.Kind][]any) {
	w.turn()
	for _, c := range w.capacities {
		c.see(w.clock)
		lists[fact.StorageCapacities] = append(lists[fact.StorageCapacities], w.capacityObject(c))
	}
}

func (w *world) capacityObject(c *capacity) *storagev1.CSIStorageCapacity {
	o := &storagev1.CSIStorageCapacity{
		ObjectMeta: w.meta(c.uid, "kube-system", c.uid, w.born), StorageClassName: c.class,
		NodeTopology: &metav1.LabelSelector{MatchLabels: map[string]string{"zone": c.zone}},
	}
	bytes := storage(c.bytes)["storage"]
	o.Capacity = &bytes
	if c.most > 0 {
		most := storage(c.most)["storage"]
		o.MaximumVolumeSize = &most
	}
	return o
}

func capacities(h *history, flags map[string]string) (rows []row) {
	f := h.choose(flags, "storageclass")
	w := h.pointInTime(flags)
	for _, m := range h.models {
		for _, c := range m.capacities {
			var last *offered
			for i := range c.seen {
				if c.seen[i].at <= w.until {
					last = &c.seen[i]
				}
			}
			if last == nil || !f.takes(m, "", "", nil, c.class) {
				continue
			}
			r := row{
				"cluster": m.cluster, "storage_class": c.class, "driver": provisioner, "topology": "zone=" + c.zone, "capacity_bytes": last.bytes,
				"maximum_volume_bytes": nil, "reported_at": last.at,
			}
			if last.most > 0 {
				r["maximum_volume_bytes"] = last.most
			}
			rows = append(rows, r)
		}
	}
	return rows
}
