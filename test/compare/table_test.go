package compare

import (
	"fmt"
	"io"
	"math"
	"slices"
	"testing"
	"text/tabwriter"
)

// tableRow is one quantity of a measurement.
type tableRow struct {
	name   string
	format string
	scale  float64
	of     func(*measurement) float64
}

const (
	mega  = 1e-6
	milli = 1e3
)

var tableRows = []tableRow{
	{"RSS after GC, MB", "%.0f", mega, func(v *measurement) float64 { return v.resting.rss }},
	{"- anonymous, MB", "%.0f", mega, func(v *measurement) float64 { return v.resting.anonymous }},
	{"- of files, MB", "%.0f", mega, func(v *measurement) float64 { return v.resting.file }},
	{"RSS before GC, after scrapes, MB", "%.0f", mega, func(v *measurement) float64 { return v.scraped.rss }},
	{"RSS when ready, MB", "%.0f", mega, func(v *measurement) float64 { return v.atReady.rss }},
	{"RSS after the changes, MB", "%.0f", mega, func(v *measurement) float64 { return v.atEnd.rss }},
	{"RSS peak, MB", "%.0f", mega, func(v *measurement) float64 { return v.atEnd.peak }},
	{"start to ready, s", "%.2f", 1, func(v *measurement) float64 { return v.ready }},
	{"scrape p50, ms", "%.1f", milli, func(v *measurement) float64 { return v.plain50 }},
	{"scrape p99, ms", "%.1f", milli, func(v *measurement) float64 { return v.plain99 }},
	{"scrape gzip p50, ms", "%.1f", milli, func(v *measurement) float64 { return v.gzip50 }},
	{"scrape gzip p99, ms", "%.1f", milli, func(v *measurement) float64 { return v.gzip99 }},
	{"scrape, MB", "%.1f", mega, func(v *measurement) float64 { return v.bytes }},
	{"scrape gzip, MB", "%.2f", mega, func(v *measurement) float64 { return v.gzipBytes }},
	{"series", "%.0f", 1, func(v *measurement) float64 { return v.series }},
	{"CPU of a scrape, ms", "%.1f", milli, func(v *measurement) float64 { return v.plainCPU }},
	{"CPU of a scrape gzip, ms", "%.1f", milli, func(v *measurement) float64 { return v.gzipCPU }},
	{"CPU per 1,000 claim updates, ms", "%.0f", milli, func(v *measurement) float64 { return v.claimCPU }},
	{"CPU per 1,000 pod updates, ms", "%.0f", milli, func(v *measurement) float64 { return v.cpu }},
	{"change to metric p50, ms", "%.0f", milli, func(v *measurement) float64 { return v.visible50 }},
	{"change to metric p99, ms", "%.0f", milli, func(v *measurement) float64 { return v.visible99 }},
	{"change to metric max, ms", "%.0f", milli, func(v *measurement) float64 { return v.visibleMax }},
	{"- after a bare watch has the event, p50, ms", "%.0f", milli, func(v *measurement) float64 { return v.own50 }},
	{"- after a bare watch has the event, p99, ms", "%.0f", milli, func(v *measurement) float64 { return v.own99 }},
	{"pod changes a second then", "%.0f", 1, func(v *measurement) float64 { return v.rate }},
	{"scrapes measured", "%.0f", 1, func(v *measurement) float64 { return float64(v.plainCount) }},
	{"scrapes gzip measured", "%.0f", 1, func(v *measurement) float64 { return float64(v.gzipCount) }},
	{"ClickHouse: RSS, MB", "%.0f", mega, func(v *measurement) float64 { return v.engineRSS }},
	{"ClickHouse: CPU per 1,000 updates, ms", "%.0f", milli, func(v *measurement) float64 { return v.engineCPU }},
	{"ClickHouse: has all after, s", "%.1f", 1, func(v *measurement) float64 { return v.settled }},
}

// printTable prints measurements side by side, with the ratio of the last one to each other one.
func printTable(t testing.TB, title string, all []measurement) {
	last := &all[len(all)-1]
	fmt.Fprintf(t.Output(), "\n%s\n\n", title)
	w := tabwriter.NewWriter(t.Output(), 0, 0, 3, ' ', tabwriter.AlignRight)
	cells := func(first string, cell func(*measurement) string, ratio func(*measurement) string) {
		fmt.Fprintf(w, "%-38s\t", first) // of one width, so that they stand to the left
		for i := range all {
			fmt.Fprint(w, cell(&all[i]), "\t")
			if i < len(all)-1 {
				fmt.Fprint(w, ratio(&all[i]), "\t")
			}
		}
		fmt.Fprintln(w)
	}
	none := func(*measurement) string { return "" }
	cells("", func(v *measurement) string { return v.name }, none)
	cells("watched", func(v *measurement) string { return v.watched }, none)
	cells("load before", func(v *measurement) string { return v.load }, func(*measurement) string { return "ratio" })
	for _, r := range tableRows {
		if !slices.ContainsFunc(all, func(v measurement) bool { return !math.IsNaN(r.of(&v)) }) {
			continue
		}
		cells(r.name, func(v *measurement) string { return number(r.format, r.of(v)*r.scale) },
			func(v *measurement) string { return number("%.3f", r.of(last)/r.of(v)) })
	}
	_ = w.Flush()
}

func number(format string, v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "-"
	}
	return fmt.Sprintf(format, v)
}

// printVerdict compares the tracker's numbers with those that are promised.
func printVerdict(t testing.TB, withPods, withoutPods, ours measurement) {
	w := t.Output()
	fmt.Fprintln(w)
	judge(w, "RSS after GC, of kube-state-metrics' with pods", ours.resting.rss/withPods.resting.rss, 1.0/4)
	judge(w, "RSS after GC, of kube-state-metrics' without pods", ours.resting.rss/withoutPods.resting.rss, 1.0/2)
	judge(w, "RSS before GC, of kube-state-metrics' with pods", ours.scraped.rss/withPods.scraped.rss, 1.0/4)
	judge(w, "RSS before GC, of kube-state-metrics' without pods", ours.scraped.rss/withoutPods.scraped.rss, 1.0/2)
	judge(w, "scrape p50, of kube-state-metrics' with pods", ours.plain50/withPods.plain50, 1.0/10)
	judge(w, "scrape p99, of kube-state-metrics' with pods", ours.plain99/withPods.plain99, 1.0/10)
	judge(w, "bytes, of kube-state-metrics' with pods", ours.bytes/withPods.bytes, 1.0/5)
	judge(w, "change to metric p99, s", ours.visible99, 1)
	judge(w, "change to metric p99, after a bare watch has the event, s", ours.own99, 1)
	if ours.rate < 0.95*changesPerSecond {
		fmt.Fprintf(w, "note: there were %.0f changes of pods a second, not %d: this machine cannot do more beside all else\n", ours.rate, changesPerSecond)
	}
}

func judge(w io.Writer, what string, is, limit float64) {
	verdict := "holds"
	if !(is <= limit) {
		verdict = "missed"
	}
	fmt.Fprintf(w, "%-7s %s: %.3f, at most %.2f\n", verdict, what, is, limit)
}
