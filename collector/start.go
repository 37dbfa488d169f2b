package collector

import (
	"context"
	"fmt"
	"time"

	"github.com/go-kit/log/level"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

// A collector begins with what an earlier tracker knew, or with the first lists of all kinds, and completes these from the
// catalog later. Then it follows the watches: collector.go.

// restore restores the snapshot of an earlier tracker into the inventory. If the snapshot has
// positions, the watches resume from them, and nothing is listed.
func (c *Collector) restore(ctx context.Context) error {
	if c.snapshot == nil {
		return nil
	}
	for _, kind := range c.kinds {
		if version := c.before(kind).ResourceVersion; version != "" {
			c.behind.Add(1)
			c.taken[kind] = fact.VersionNumber(version)
		}
	}
	restore := func(inv *inventory.Inventory, now fact.Time) error {
		c.watched = restoreSpans(c.snapshot.Watched, c.before(fact.Pods))
		inv.SetWatched(c.watched.list)
		unread, err := inv.Restore(ahead{until{ctx, c.snapshot.Saved()}, c.policy}, c.snapshot.Version, now)
		if unread != nil {
			level.Warn(c.logger).Log("msg", "an object of the last run cannot be read, and is left out until it changes", "err", unread)
		}
		return err
	}
	var err error
	if c.behind.Load() > 0 {
		err = c.observe(restore, c.kinds...)
	} else { // the first lists emit the states
		c.mu.Lock()
		err = restore(c.inv, fact.At(c.now()))
		c.mu.Unlock()
	}
	if ctx.Err() != nil {
		return ctx.Err() // the next start restores them
	}
	if err != nil {
		return fmt.Errorf("restoring the objects of the last run: %w", err)
	}
	c.snapshot.Objects = nil // the garbage collector can free them
	if c.behind.Load() > 0 {
		c.applyResumed()
		close(c.synced)
	}
	level.Info(c.logger).Log("msg", "resuming where the last run ended", "objects", c.count(), "since", c.snapshot.LastSeen().Time().UTC().Format(time.RFC3339))
	return nil
}

// applyResumed marks the states in the exporter as complete: it has those of all restored objects.
func (c *Collector) applyResumed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.exporter != nil {
		c.exporter.Apply(&fact.Update{At: fact.At(c.now()), Resumed: true})
	}
}

// until ends the reading of objects when ctx ends: nobody may read a journal that is being closed.
type until struct {
	ctx     context.Context
	objects fact.SavedObjects
}

func (u until) Each(restore func(*fact.SavedObject) error) error {
	return u.objects.Each(func(o *fact.SavedObject) error {
		if err := u.ctx.Err(); err != nil {
			return err
		}
		return restore(o)
	})
}

// before returns the position up to which an earlier tracker watched a kind.
func (c *Collector) before(kind fact.Kind) fact.Position {
	if c.snapshot == nil {
		return fact.Position{Kind: kind}
	}
	return c.snapshot.Positions[kind]
}

// Reconcile restores a snapshot after the first lists were taken: it completes the inventory. The
// collector takes no event while read reads the snapshot, in which another tracker may have written
// newer objects. Reconcile returns the error of read.
func (c *Collector) Reconcile(read func() (*fact.Snapshot, error)) error {
	return c.observe(func(inv *inventory.Inventory, now fact.Time) error {
		c.busySince.Store(0) // reading the catalog may take long and does not count as stuck
		known, err := read()
		if err != nil || known == nil {
			return err
		}
		lastSeen := map[fact.Kind]fact.Time{}
		for kind, p := range known.Positions {
			lastSeen[kind] = notBefore(p.At, now)
		}
		if c.watched.merge(known.Watched) {
			inv.SetWatched(c.watched.list)
		}
		c.update.Unprompted = true
		unread, err := inv.Reconcile(known.Saved(), known.Version, now, c.shown(lastSeen), c.taken)
		if unread != nil {
			level.Warn(c.logger).Log("msg", "an object in the catalog cannot be read", "err", unread)
		}
		return err
	}, c.kinds...)
}

// shown returns the entries of the kinds that the API server shows, and of which it is therefore known what is gone. The first
// list of a kind may wait for the lock that the caller holds: such a kind is left out.
func (c *Collector) shown(lastSeen map[fact.Kind]fact.Time) map[fact.Kind]fact.Time {
	shown := map[fact.Kind]fact.Time{}
	for _, s := range c.stores {
		if _, listed := c.taken[s.kind]; listed && s.shown.Load() {
			shown[s.kind] = lastSeen[s.kind]
		}
	}
	return shown
}

// firstList is the first list of a kind.
type firstList struct {
	objects  []any
	texts    map[string]string // of metric families, by UID
	position fact.Position     // without a resource version if the tracker may not list the kind
}

// replace takes the list of a kind. The first lists, and their watches, wait until all kinds have
// theirs.
func (c *Collector) replace(ctx context.Context, list firstList, lastSeen fact.Time) error {
	objects, position := list.objects, list.position
	kind := position.Kind
	c.metrics.lists[kind].Inc()
	select {
	case <-c.synced:
	default:
		taken, err := c.keepFirst(kind, list)
		if err != nil {
			return err
		}
		select {
		case <-c.synced:
		case <-ctx.Done():
			return nil
		}
		if taken {
			return nil
		}
	}
	level.Info(c.logger).Log("msg", "listed again", "kind", kind, "objects", len(objects))
	return c.observe(func(inv *inventory.Inventory, now fact.Time) error {
		c.moveTo(position)
		c.families.list(kind, list.texts, fact.VersionNumber(position.ResourceVersion))
		return inv.Replace(kind, objects, listSeen(now, lastSeen, position.ResourceVersion))
	}, kind)
}

// listSeen returns the observation of a list. The objects of a kind's first list are found: they
// were not created now. Changes that a later list shows happened after the kind was last watched.
func listSeen(now, lastSeen fact.Time, version string) inventory.Observation {
	return inventory.Observation{At: now, NotBefore: notBefore(lastSeen, now), Found: lastSeen == 0, Version: version}
}

// keepFirst stores a kind's first list; once all kinds have theirs, it takes all of them. It does not
// take a list that comes after that: of a kind that the API server did not show then.
func (c *Collector) keepFirst(kind fact.Kind, list firstList) (taken bool, err error) {
	c.firstMu.Lock()
	defer c.firstMu.Unlock()
	if c.first == nil {
		return false, nil
	}
	c.first[kind] = list
	if list.position.ResourceVersion != "" {
		level.Info(c.logger).Log("msg", "listed", "kind", kind, "objects", len(list.objects))
		c.objects.Add(uint64(len(list.objects)))
	}
	if len(c.first) < len(c.kinds) {
		return true, nil
	}
	lists := c.first
	c.first = nil
	return true, c.takeFirst(lists)
}

// takeFirst takes the first lists of all kinds as one event.
func (c *Collector) takeFirst(lists map[fact.Kind]firstList) error {
	if c.snapshot == nil {
		// Without a snapshot, the next start begins with a new journal if this one is interrupted. With one, an object
		// must not be in the journal before all rows that follow from it are.
		c.emitInParts(c.emitPart)
		defer c.emitInParts(nil)
	}
	err := c.observe(func(inv *inventory.Inventory, now fact.Time) error {
		for kind, list := range lists {
			if list.position.ResourceVersion != "" {
				c.moveTo(list.position)
			}
			c.families.list(kind, list.texts, fact.VersionNumber(list.position.ResourceVersion))
		}
		for _, kind := range c.kinds {
			if lists[kind].position.ResourceVersion == "" {
				continue // not shown by the API server: what an earlier tracker knew of this kind stays as it was
			}
			if err := inv.Replace(kind, lists[kind].objects, listSeen(now, c.before(kind).At, lists[kind].position.ResourceVersion)); err != nil {
				return err
			}
			delete(lists, kind) // the garbage collector can free its memory
		}
		return nil
	}, c.kinds...)
	if err == nil {
		close(c.synced)
	}
	return err
}
