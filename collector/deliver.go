package collector

import "github.com/kubevoltracker/kubevoltracker/collector/fact"

// keepRows is the number of rows up to which the memory of an update is kept for the next
// one. That of the first lists, which take as much as the inventory itself, is freed.
const keepRows = 10_000

// deliver passes what changed to the exporter and the recorder. The caller holds the lock.
func (c *Collector) deliver(ticked bool) {
	c.families.take(&c.update)  // for the first part, which has the states of volumes and claims
	for c.inv.Take(&c.update) { // a large event comes in parts, and the positions with the last one
		c.update.Positions, c.update.Watched = c.update.Positions[:0], nil
		c.emit(&c.update)
		c.update.Rendered, c.update.Relisted = nil, nil
	}
	c.update.Positions, c.update.Watched = c.update.Positions[:0], nil
	if c.update.Empty() && !ticked && !c.watched.fresh {
		return // the positions can wait for the next tick
	}
	for _, p := range c.moved {
		c.update.Positions = append(c.update.Positions, p)
	}
	clear(c.moved)
	c.update.Watched = c.watched.take()
	if !c.update.Empty() {
		c.emit(&c.update)
	}
	c.update.Rendered, c.update.Relisted = nil, nil
}

// emit passes an update to the exporter and the recorder.
func (c *Collector) emit(u *fact.Update) {
	c.busySince.Store(0)
	large := u.Facts.Len() > keepRows || len(u.Volumes) > keepRows
	c.keeps.report(u)
	if c.exporter != nil {
		c.exporter.Apply(u)
	}
	if c.recorder != nil {
		c.recorder.Record(u)
	}
	if large {
		*u = fact.Update{Unprompted: u.Unprompted}
	}
}

// emitPart emits the rows that the event in work has emitted so far.
func (c *Collector) emitPart() {
	var part fact.Update
	c.inv.TakePart(&part)
	c.emit(&part)
	c.busySince.Store(c.now().UnixNano())
}

// emitInParts has emit be called within an event whenever it has emitted many rows; nil ends that.
func (c *Collector) emitInParts(emit func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inv.SetPart(emit)
}
