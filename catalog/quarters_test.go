package catalog

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// days returns a function that returns the beginning of a date.
func days(t *testing.T) func(text string) time.Time {
	return func(text string) time.Time {
		d, err := time.Parse(time.DateOnly, text)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
}

func TestPlanQuarters(t *testing.T) {
	day := days(t)
	four := []string{"202507", "202510", "202601", "202604"}
	none := summedCluster{first: beginning, until: beginning}
	for _, c := range []struct {
		name         string
		partitions   []string
		from, monday string
		done         summedCluster
		want         string // quarter-end>after
	}{
		{"no mounts", nil, "1970-01-01", "2026-05-18", none, ""},
		{"no sums yet", four, "1970-01-01", "2026-05-18", none, "2025-07-01-2025-10-01>0 2025-10-01-2026-01-01>0 2026-01-01-2026-04-01>0 2026-04-01-2026-05-18>0"},
		{"one more week", four, "1970-01-01", "2026-05-18", summedCluster{first: beginning, until: day("2026-05-11"), version: 7},
			"2025-07-01-2025-10-01>7 2025-10-01-2026-01-01>7 2026-01-01-2026-04-01>7 2026-04-01-2026-05-18>0"},
		{"the same week", four[2:], "1970-01-01", "2026-05-18", summedCluster{first: beginning, until: day("2026-05-18"), version: 7}, "2026-01-01-2026-04-01>7 2026-04-01-2026-05-18>7"},
		{"a quarter has ended", four[2:], "1970-01-01", "2026-04-06", summedCluster{first: beginning, until: day("2026-03-30"), version: 7}, "2026-01-01-2026-04-01>0 2026-04-01-2026-04-06>0"},
		{"before the first Monday of a quarter", four[2:], "1970-01-01", "2026-03-30", none, "2026-01-01-2026-03-30>0"},
		{"a quarter that begins on a Monday", []string{"202401", "202404"}, "1970-01-01", "2024-04-01", none, "2024-01-01-2024-04-01>0"},
		{"expired quarters", four, "2026-01-01", "2026-05-18", none, "2026-01-01-2026-04-01>0 2026-04-01-2026-05-18>0"},
		{"no partition of a quarter", []string{"all", "197001"}, "1970-01-01", "2026-05-18", none, "1970-01-01-1970-04-01>0"},
	} {
		var got []string
		for _, job := range planQuarters(c.partitions, day(c.from), day(c.monday), c.done) {
			got = append(got, fmt.Sprintf("%s-%s>%d", job.quarter.Format(time.DateOnly), job.end.Format(time.DateOnly), job.after))
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestLongestRun(t *testing.T) {
	day := days(t)
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
