package exporter

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// A list of 20,000 volumes and claims moves all of them at once, from size 1 to
// size 2 and back, and replaces a tenth of them. Each scrape must see one size
// only, the same in the volumes and in the sums, and 20,000 volumes.
func TestScrapeShowsOneMomentOfARelist(t *testing.T) {
	const (
		n       = 20_000
		replace = n / 10
		lists   = 6
	)
	e := newTestExporter()
	list := func(turn int) *fact.Update {
		size := int64(turn%2 + 1)
		u := &fact.Update{}
		add := func(uid string, gone bool) {
			v, c := testVolume(), testClaim()
			v.UID, v.Name, v.Status, v.CapacityBytes, v.Gone = uid, uid, fact.VolumeIdle, size, gone
			c.UID, c.CapacityBytes, c.Gone = uid, size, gone
			u.Volumes, u.Claims = append(u.Volumes, v), append(u.Claims, c)
		}
		for i := range n - replace {
			add(fmt.Sprintf("stays-%d", i), false)
		}
		for i := range replace {
			if turn > 0 {
				add(fmt.Sprintf("turn-%d-%d", turn-1, i), true)
			}
			add(fmt.Sprintf("turn-%d-%d", turn, i), false)
		}
		u.Facts.Changes = []fact.Change{claimChange(fact.Resized)}
		return u
	}
	scrapeMeanwhile(t, e, lists, list, func(body string) error { return oneMoment(body, n) })
}

// scrapeMeanwhile applies the lists 0 to last, one after another, while two others scrape, and judges what each scrape
// after the first list shows.
func scrapeMeanwhile(t *testing.T, e *Exporter, last int, list func(turn int) *fact.Update, judge func(body string) error) {
	t.Helper()
	e.Apply(list(0))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := judge(get(http.HandlerFunc(e.scrape), acceptText).Body.String()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for turn := 1; turn <= last; turn++ {
		e.Apply(list(turn))
	}
	close(stop)
	wg.Wait()
}

func oneMoment(body string, n int) error {
	values := map[string]map[string]int{} // by family: how often each value
	for line := range strings.Lines(body) {
		if !strings.HasPrefix(line, "kubevoltracker_") {
			continue
		}
		family, _, _ := strings.Cut(line, "{")
		value := line[strings.LastIndexByte(line, ' ')+1 : len(line)-1]
		if values[family] == nil {
			values[family] = map[string]int{}
		}
		values[family][value]++
	}
	sizes := values["kubevoltracker_volume_capacity_bytes"]
	if len(sizes) != 1 {
		return fmt.Errorf("a mixture of sizes: %v", sizes)
	}
	var size int
	for s, count := range sizes {
		if count != n {
			return fmt.Errorf("%d volumes, want %d", count, n)
		}
		if _, err := fmt.Sscan(s, &size); err != nil {
			return err
		}
	}
	for _, family := range []string{"kubevoltracker_namespace_idle_bytes", "kubevoltracker_namespace_capacity_bytes"} {
		if want := fmt.Sprint(size * n); values[family][want] != 1 {
			return fmt.Errorf("%s is %v while the volumes say %s", family, values[family], want)
		}
	}
	// One resize is counted with each list: size 1 after an even number of them.
	for resized := range values["kubevoltracker_claims_resized_total"] {
		var count int
		if _, err := fmt.Sscan(resized, &count); err != nil {
			return err
		}
		if (count-1)%2+1 != size && count > 0 {
			return fmt.Errorf("%d lists are counted while the volumes have size %d", count, size)
		}
	}
	return nil
}
