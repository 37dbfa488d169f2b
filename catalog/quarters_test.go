package catalog

import (
	"testing"
	"time"
)

func TestLongestRun(t *testing.T) {
	day := func(text string) time.Time {
		d, err := time.Parse(time.DateOnly, text)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	cluster := func(first, until, seen string) summedCluster {
		return summedCluster{first: day(first), until: day(until), seen: day(seen)}
	}
	none := cluster("1970-01-01", "1970-01-01", "2026-05-20")
	for _, c := range []struct {
		name                      string
		all                       []summedCluster
		since, until, begin, ends string // no run without begin
	}{
		{"no cluster", nil, "2025-01-01", "2026-05-20", "", ""},
		{"no sums", []summedCluster{none}, "2025-01-01", "2026-05-20", "", ""},
		{"whole quarters", []summedCluster{cluster("2025-01-01", "2026-04-01", "2026-05-20")}, "2025-02-03", "2026-02-03", "2025-04-01", "2026-01-01"},
		{"from the beginning of a quarter", []summedCluster{cluster("2025-01-01", "2026-04-01", "2026-05-20")}, "2025-04-01", "2026-01-01", "2025-04-01", "2026-01-01"},
		{"weeks of the last one", []summedCluster{cluster("2025-01-01", "2026-05-11", "2026-05-20")}, "2025-02-03", "2026-05-20", "2025-04-01", "2026-05-11"},
		{"its weeks end after the window", []summedCluster{cluster("2025-01-01", "2026-05-11", "2026-05-20")}, "2025-02-03", "2026-05-08", "2025-04-01", "2026-04-01"},
		{"since the first sums", []summedCluster{cluster("2025-07-01", "2026-04-01", "2026-05-20")}, "1970-01-01", "2026-05-20", "2025-07-01", "2026-04-01"},
		{"two clusters", []summedCluster{cluster("2025-01-01", "2026-04-01", "2026-05-20"), cluster("2025-07-01", "2026-04-01", "2026-05-20")}, "2025-01-01", "2026-05-20", "2025-07-01", "2026-04-01"},
		{"up to different days", []summedCluster{cluster("2025-01-01", "2026-05-11", "2026-05-20"), cluster("2025-01-01", "2026-05-04", "2026-05-20")}, "2025-01-01", "2026-05-20", "2025-01-01", "2026-04-01"},
		{"one was watched until a quarter began", []summedCluster{cluster("2025-01-01", "2026-04-01", "2026-05-20"), cluster("2025-01-01", "2025-10-01", "2025-09-30")}, "2025-01-01", "2026-05-20", "2025-01-01", "2026-04-01"},
		{"one was watched, and not summed up", []summedCluster{cluster("2025-01-01", "2026-04-01", "2026-05-20"), none}, "2025-01-01", "2026-05-20", "", ""},
		{"the longer of two runs", []summedCluster{cluster("2025-01-01", "2026-04-01", "2026-05-20"), cluster("2025-01-01", "2025-07-01", "2025-10-20")}, "2025-01-01", "2026-05-20", "2025-01-01", "2025-07-01"},
		{"nothing between the moments", []summedCluster{cluster("2025-01-01", "2026-04-01", "2026-05-20")}, "2026-04-02", "2026-05-20", "", ""},
	} {
		run := longestRun(c.all, day(c.since), day(c.until))
		if c.begin == "" {
			if !run.begin.Equal(run.end) {
				t.Errorf("%s: got %v, want none", c.name, run)
			}
		} else if want := (quarterRun{day(c.begin), day(c.ends)}); run != want {
			t.Errorf("%s: got %v, want %v", c.name, run, want)
		}
	}
}
