package catalog_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

func TestGapsBetweenSpansOfWatching(t *testing.T) {
	begin := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	at := func(minute int) fact.Time { return fact.At(begin.Add(time.Duration(minute) * time.Minute)) }
	c := migrated(t)
	later, err := catalog.Open(catalog.Options{URL: "http://" + c.Address() + "/" + c.Database(), Username: catalogtest.User, Password: catalogtest.Password, Now: func() time.Time { return at(60).Time() }})
	if err != nil {
		t.Fatal(err)
	}
	defer later.Close()
	span := func(instance string, kind fact.Kind, started, seen, ended int) fact.Coverage {
		row := fact.Coverage{Version: uint64(seen), Instance: instance, Kind: kind, StartedAt: at(started), SeenAt: at(seen)}
		if ended != 0 {
			row.EndedAt = at(ended)
		}
		return row
	}
	write(t, c, "east", &fact.Facts{Coverage: []fact.Coverage{
		span("a", fact.Pods, 0, 5, 0), span("a", fact.Pods, 0, 10, 10), // written again when it ended
		span("a", fact.Claims, 0, 11, 11), span("a", fact.Jobs, 0, 1, 0),
		span("a", fact.Claims, 20, 58, 0), span("b", fact.Pods, 21, 59, 0), // after a gap
		span("standby", fact.Pods, 30, 40, 40), // beside another one
	}})
	write(t, c, "west", &fact.Facts{Coverage: []fact.Coverage{span("c", fact.Pods, 0, 30, 0), span("c", fact.Claims, 0, 59, 0)}})
	got, err := later.Gaps(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	want := []catalog.Gap{{"east", at(10).Time(), at(21).Time()}, {Cluster: "west", From: at(30).Time()}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %v\nwant %v", got, want)
	}
	for i, text := range []string{
		"nobody watched cluster east from 2026-01-02 03:10:00 to 2026-01-02 03:21:00: what ended then has bounds, and what came and went then may be missing",
		"nobody has watched cluster west since 2026-01-02 03:30:00",
	} {
		if i < len(got) && got[i].String() != text {
			t.Errorf("%s", got[i])
		}
	}
	if got, err := later.Gaps(t.Context(), "west"); err != nil || len(got) != 1 {
		t.Errorf("of one cluster: %v, %v", got, err)
	}
}

// TestReportsOnWhatNoTrackerHasWrittenSaySo asks an empty catalog, whose answers have no rows, for the notes beside them.
func TestReportsOnWhatNoTrackerHasWrittenSaySo(t *testing.T) {
	c := migrated(t)
	notes := func(cluster string) string {
		t.Helper()
		result, err := c.RunReport(t.Context(), "idle", map[string]string{"cluster": cluster}, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer result.Close()
		notes, err := result.Notes()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(notes, "\n")
	}
	for _, cluster := range []string{"", "nosuch"} {
		if got, want := notes(cluster), "no tracker has written into this catalog yet"; got != want {
			t.Errorf("an empty catalog: got %q, want %q", got, want)
		}
	}
	names := []string{"c01"}
	watched := fact.Facts{Coverage: []fact.Coverage{{Version: 1, Instance: "a", Kind: fact.Pods, StartedAt: day(3, 1), SeenAt: day(3, 1)}}}
	write(t, c, names[0], &watched)
	if got, want := notes("nosuch"), `no tracker has written cluster "nosuch" into this catalog, which has: c01`; got != want {
		t.Errorf("another cluster: got %q, want %q", got, want)
	}
	for len(names) < 12 {
		names = append(names, fmt.Sprintf("c%02d", len(names)+1))
		write(t, c, names[len(names)-1], &watched)
	}
	want := `no tracker has written cluster "nosuch" into this catalog, which has: ` + strings.Join(names[:10], ", ") + " and 2 more; the report coverage lists them"
	if got := notes("nosuch"); got != want {
		t.Errorf("many clusters: got %q, want %q", got, want)
	}
	if got := notes(""); strings.Contains(got, "no tracker") {
		t.Errorf("all clusters: got %q", got)
	}
}
