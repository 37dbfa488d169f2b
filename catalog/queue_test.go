package catalog

import (
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

func TestQueueCutsBatchesInOrder(t *testing.T) {
	now := time.Unix(0, 0)
	q := newQueue(10, 100, func() time.Time { return now })
	given := numbered(0, 25)
	given.Volumes = make([]inventory.Volume, 3)
	q.add("east", given)
	q.add("west", numbered(25, 1))
	given.Changes[0].UID = "reused"

	var sizes []int
	var uids []string
	for {
		b, pause := q.take(time.Second)
		if b == nil {
			if pause == 0 {
				break
			}
			now = now.Add(pause) // the last batch is neither full nor old
			continue
		}
		if b.number == 1 && len(b.facts.Volumes) != 3 {
			t.Errorf("volumes do not come before changes: %+v", b.facts)
		}
		if (b.number == 4) != (b.cluster == "west") {
			t.Errorf("batch %d is of %s", b.number, b.cluster)
		}
		sizes = append(sizes, b.rows)
		for _, row := range b.facts.Changes {
			uids = append(uids, row.UID)
		}
		q.acknowledge(b.rows)
	}
	if len(sizes) != 4 || sizes[0] != 10 || sizes[1] != 10 || sizes[2] != 8 || sizes[3] != 1 {
		t.Errorf("sizes %v", sizes)
	}
	if len(uids) != 26 || uids[0] != "0" || uids[25] != "25" {
		t.Errorf("order %v", uids)
	}
	if held, since := q.rows(); held != 0 || !since.IsZero() {
		t.Errorf("%d rows held since %s", held, since)
	}
}

func TestQueueBlocksAtItsBoundUntilRowsAreAcknowledged(t *testing.T) {
	q := newQueue(4, 10, time.Now)
	added := make(chan struct{})
	go func() {
		q.add("east", numbered(0, 25)) // more at once than the queue may ever hold
		close(added)
	}()
	seen := 0
	for seen < 25 {
		b, _ := q.take(0)
		if b == nil {
			time.Sleep(time.Millisecond)
			continue
		}
		if held, _ := q.rows(); held > 10 {
			t.Fatalf("%d rows held", held)
		}
		seen += b.rows
		q.acknowledge(b.rows)
	}
	<-added

	q.add("east", numbered(0, 10))
	blocked := make(chan struct{})
	go func() {
		q.add("east", numbered(0, 1))
		close(blocked)
	}()
	select {
	case <-blocked:
		t.Fatal("a row over the bound was taken")
	case <-time.After(20 * time.Millisecond):
	}
	if lost := q.close(); lost != 11 { // also the one that waits outside
		t.Errorf("%d rows lost", lost)
	}
	<-blocked // the end of the queue lets go of everybody
}
