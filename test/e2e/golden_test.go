package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

const demoScrape = "testdata/demo-scrape.txt"

// TestDemoScrapeMatchesTheGoldenFile compares the scrape of the demo's workload, once it has settled, with a file.
// UIDs, times and the order of the volumes differ in each cluster, and are left out.
func TestDemoScrapeMatchesTheGoldenFile(t *testing.T) {
	t.Parallel()
	c, err := harness.StartCluster(harness.Program(t, "localcluster"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	p := harness.StartTracker(t, c.Kubeconfig, "--catalog.url=none", "--metrics.claim-labels=team")
	harness.Eventually(t, "ready", func() error {
		if status, body, err := p.Get("/readyz"); err != nil || status != 200 {
			return fmt.Errorf("%d, %s, %w", status, body, err)
		}
		return nil
	})
	company, err := os.ReadFile(harness.File(t, "deploy/demo/company.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	// A CronJob that runs each minute would have pods now and then.
	const schedule = "  schedule: \"* * * * *\"\n"
	if !strings.Contains(string(company), schedule) {
		t.Fatalf("the demo has no %q", schedule)
	}
	quiet := filepath.Join(t.TempDir(), "company.yaml")
	if err := os.WriteFile(quiet, []byte(strings.Replace(string(company), schedule, schedule+"  suspend: true\n", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "the workload is applied", func() error { // its pods need the service accounts of its namespaces
		_, err := c.TryKubectl(t, "apply", "-f", quiet)
		return err
	})
	scrape := func() string {
		_, body, err := p.Get("/metrics")
		if err != nil {
			t.Fatal(err)
		}
		return workloadPart(body)
	}
	if *update {
		last := ""
		harness.Eventually(t, "it has settled", func() error {
			before := last
			time.Sleep(10 * time.Second)
			if last = scrape(); last != before {
				return fmt.Errorf("it still changes")
			}
			return nil
		})
		if err := os.WriteFile(demoScrape, []byte(last), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(demoScrape)
	if err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "the scrape is "+demoScrape+", which -update writes anew", func() error {
		got := scrape()
		if got == string(want) {
			return nil
		}
		lines := func(text string) []string { return strings.Split(text, "\n") }
		for _, line := range lines(got) {
			if !slices.Contains(lines(string(want)), line) {
				return fmt.Errorf("not wanted: %s", line)
			}
		}
		return fmt.Errorf("something is missing; it is\n%s", got)
	})
}

var (
	demoFamily = regexp.MustCompile(`^(# (HELP|TYPE) )?kubevoltracker_(namespace|volume|volumes|claims|mounts)_`)
	volumeOf   = regexp.MustCompile(`_volume_info\{persistentvolume="(pvc-[^"]+)",namespace="([^"]+)",persistentvolumeclaim="([^"]+)"`)
	ofTime     = regexp.MustCompile(`(?m)^(kubevoltracker_\S*_(?:idle_seconds|timestamp_seconds|pending_seconds)\{\S*\}) [1-9]\S*$`)
	// Those that can be 0: observed times are until a bookmark comes, and idle space is where a pod was quick.
	ofWatch = regexp.MustCompile(`(?m)^(kubevoltracker_(?:volume_idle_observed_seconds|namespace_\w+_byte_seconds_total)\{\S*\}) \S+$`)
)

// workloadPart returns the part of a scrape that is about the workload: volumes by the names of their claims, times
// without their numbers, the samples of each family sorted.
func workloadPart(scrape string) string {
	var names []string
	for _, m := range volumeOf.FindAllStringSubmatch(scrape, -1) {
		names = append(names, m[1], m[2]+"/"+m[3])
	}
	scrape = ofTime.ReplaceAllString(strings.NewReplacer(names...).Replace(scrape), "$1 …")
	scrape = ofWatch.ReplaceAllString(scrape, "$1 …")
	var out, samples []string
	for line := range strings.Lines(scrape) {
		switch {
		case !demoFamily.MatchString(line):
		case strings.HasPrefix(line, "# HELP"):
			slices.Sort(samples)
			out, samples = append(append(out, samples...), line), nil
		case strings.HasPrefix(line, "# TYPE"):
			out = append(out, line)
		default:
			samples = append(samples, line)
		}
	}
	slices.Sort(samples)
	return strings.Join(append(out, samples...), "")
}
