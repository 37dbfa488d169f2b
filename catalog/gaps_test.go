package catalog

import (
	"reflect"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

func TestGapsBetweenSpansOfWatching(t *testing.T) {
	c := migrated(t)
	begin := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	at := func(minute int) inventory.Time { return inventory.At(begin.Add(time.Duration(minute) * time.Minute)) }
	c.now = func() time.Time { return at(60).Time() }
	span := func(instance string, kind inventory.Kind, started, seen, ended int) inventory.Coverage {
		row := inventory.Coverage{Version: uint64(seen), Instance: instance, Kind: kind, StartedAt: at(started), SeenAt: at(seen)}
		if ended != 0 {
			row.EndedAt = at(ended)
		}
		return row
	}
	write(t, c, "east", &inventory.Facts{Coverage: []inventory.Coverage{
		span("a", inventory.Pods, 0, 5, 0), span("a", inventory.Pods, 0, 10, 10), // told again, with its end
		span("a", inventory.Claims, 0, 11, 11), span("a", inventory.Jobs, 0, 1, 0),
		span("a", inventory.Claims, 20, 58, 0), span("b", inventory.Pods, 21, 59, 0), // after a gap
		span("standby", inventory.Pods, 30, 40, 40), // beside another one
	}})
	write(t, c, "west", &inventory.Facts{Coverage: []inventory.Coverage{span("c", inventory.Pods, 0, 30, 0), span("c", inventory.Claims, 0, 59, 0)}})
	got, err := c.Gaps(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	want := []Gap{{"east", at(10).Time(), at(21).Time()}, {Cluster: "west", From: at(30).Time()}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %v\nwant %v", got, want)
	}
	for i, text := range []string{
		"nobody watched cluster east from 2026-01-02 03:10:00 to 2026-01-02 03:21:00: what ended then has bounds, and what came and went then may be missing",
		"nobody watches cluster west since 2026-01-02 03:30:00",
	} {
		if i < len(got) && got[i].String() != text {
			t.Errorf("%s", got[i])
		}
	}
	if got, err := c.Gaps(t.Context(), "west"); err != nil || len(got) != 1 {
		t.Errorf("of one cluster: %v, %v", got, err)
	}
}
