package history

import (
	"fmt"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

const provisioner = "disk.example.com"

// capacity is a part of the storage, with what a tracker has seen of it. Its CSIStorageCapacity goes at times, and is made anew.
type capacity struct {
	class, zone string
	bytes, most int64 // most is 0 if the driver does not say it
	silent      bool  // the driver does not say how much there is
	existing    bool
	made        int // how often it was made
	seen        []offered
}

// offered is what a driver offered from a moment on.
type offered struct {
	at          fact.Time
	uid         string
	bytes, most int64
	none        bool // no amount
}

// makeCapacities makes two parts of the storage of each class.
func (w *world) makeCapacities() {
	for _, class := range w.classes {
		for _, zone := range []string{"a", "b"} {
			w.capacities = append(w.capacities, &capacity{class: class, zone: zone, bytes: 1 << 40, existing: true})
		}
	}
}

// turn changes what one part offers; not by the world's random numbers, so that the rest stays as it is.
func (w *world) turn() *capacity {
	n := int64(w.clock / second)
	c := w.capacities[n%int64(len(w.capacities))]
	c.bytes, c.most, c.silent = n%1000<<30, n%3<<33, n%5 == 0
	if !c.existing {
		c.existing = true
		c.made++
	} else if n%7 == 0 {
		c.existing = false
	}
	return c
}

func (c *capacity) uid() string { return fmt.Sprint("capacity-", c.class, "-", c.zone, "-", c.made) }

// see notes what a tracker writes of a part: what differs from before.
func (c *capacity) see(at fact.Time) {
	now := offered{at, c.uid(), c.bytes, c.most, c.silent}
	if !c.existing {
		now = offered{at: at, none: true}
	}
	if n := len(c.seen); n > 0 {
		last := c.seen[n-1]
		if last.at = at; last == now {
			return
		}
	}
	c.seen = append(c.seen, now)
}

// offer lets a driver report, mostly something new.
func (w *world) offer() {
	w.tick()
	c := w.capacities[0]
	if w.clock/second%4 > 0 {
		c = w.turn()
	}
	if c.see(w.clock); c.existing {
		w.tracker.set(w.capacityObject(c), w.clock)
	} else {
		w.tracker.delete(w.capacityObject(c), w.clock)
	}
}

func (w *world) listCapacities(lists map[fact.Kind][]any) {
	w.turn()
	for _, c := range w.capacities {
		if c.see(w.clock); c.existing {
			lists[fact.StorageCapacities] = append(lists[fact.StorageCapacities], w.capacityObject(c))
		}
	}
}

func (w *world) capacityObject(c *capacity) *storagev1.CSIStorageCapacity {
	o := &storagev1.CSIStorageCapacity{
		ObjectMeta: w.meta(c.uid(), "kube-system", c.uid(), w.born), StorageClassName: c.class,
		NodeTopology: &metav1.LabelSelector{MatchLabels: map[string]string{"zone": c.zone}},
	}
	if !c.silent {
		bytes := storage(c.bytes)["storage"]
		o.Capacity = &bytes
	}
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
			if last == nil || last.none || !f.takes(m, "", "", nil, c.class) {
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
