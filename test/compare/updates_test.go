package compare

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// updatesPerSecond is how many updates of pods a second updateCPU makes.
const updatesPerSecond = 300

// TestUpdates measures what an update of a pod costs the tracker and kube-state-metrics, and how long a change takes to
// show, in turn on one API server. COMPARE_UPDATES is the number of pods, COMPARE_ROUNDS how many turns each program
// has, COMPARE_SECONDS how long it is updated, and COMPARE_BEFORE the files of other builds of the tracker, with spaces
// between, that have their turns as well. Like TestCompare, it fails by no number.
func TestUpdates(t *testing.T) {
	n := sizesOf(t, "COMPARE_UPDATES")[0]
	rounds, seconds := 1, 60
	readNumber(t, "COMPARE_ROUNDS", &rounds)
	readNumber(t, "COMPARE_SECONDS", &seconds)
	programs := []rival{rivals[0]}
	for _, program := range strings.Fields(os.Getenv("COMPARE_BEFORE")) {
		before := rivals[2]
		before.name = filepath.Base(program)
		before.launch = func(t testing.TB, kubeconfig string) *measured { return launchTracker(t, program, kubeconfig) }
		programs = append(programs, before)
	}
	programs = append(programs, rivals[2])
	c := startBenchCluster(t)
	c.grow(t, n)
	var all []updatesMeasured
	for range rounds {
		for _, r := range programs {
			all = append(all, r.measureUpdates(t, c, n, seconds*updatesPerSecond))
		}
	}
	printUpdates(t, fmt.Sprintf("%d pods, %d updates a second for %d s", n, updatesPerSecond, seconds), all)
}

// readNumber reads a positive number from the environment, if the variable is set.
func readNumber(t testing.TB, variable string, number *int) {
	if os.Getenv(variable) != "" {
		*number = sizesOf(t, variable)[0]
	}
}

// updatesMeasured has a program's measurement, and its memory before the updates and after them.
type updatesMeasured struct {
	measurement
	before, after memory
}

// measureUpdates runs a program, and measures updates of pods and then changes of them.
func (r *rival) measureUpdates(t testing.TB, c *benchCluster, n, updates int) updatesMeasured {
	t.Logf("%s (%s)", r.name, r.watched)
	v := updatesMeasured{measurement: newMeasurement(t, r.name, r.watched)}
	m := r.launch(t, c.kubeconfig)
	defer m.stop()
	pid := m.process.Process.Pid
	r.awaitWhole(t, m, n)
	awaitCatalog(t, m)
	v.before = memoryOf(t, pid)
	v.cpu, v.engineCPU = updateCPU(t, c, pid, harness.ChildOf(t, pid), updates)
	v.after = memoryOf(t, pid)
	r.measureChanges(t, c, m, &v.measurement, min(n, 5000))
	return v
}

// updateCPU returns the processor time that a process, and its engine if it has one, take for 1,000 updates of pods
// by their kubelets, while nobody scrapes.
func updateCPU(t testing.TB, c *benchCluster, pid, engine, updates int) (cpu, engineCPU float64) {
	t.Helper()
	of := func() (time.Duration, time.Duration) {
		if engine == 0 {
			return cpuOf(t, pid), 0
		}
		return cpuOf(t, pid), cpuOf(t, engine)
	}
	before, engineBefore := of()
	atRate(t, updates, updatesPerSecond, func(i int) error {
		i %= len(c.pods)
		flipReadiness(c.pods[i])
		return c.writeStatus(background, i)
	})
	time.Sleep(2 * time.Second) // the last ones
	after, engineAfter := of()
	perThousand := func(d time.Duration) float64 { return d.Seconds() / float64(updates) * 1000 }
	cpu, engineCPU = perThousand(after-before), unmeasured
	if engine != 0 {
		engineCPU = perThousand(engineAfter - engineBefore)
	}
	return cpu, engineCPU
}

// printUpdates prints a line for each turn of a program.
func printUpdates(t testing.TB, title string, all []updatesMeasured) {
	fmt.Fprintf(t.Output(), "\n%s\n\n", title)
	w := tabwriter.NewWriter(t.Output(), 0, 0, 3, ' ', tabwriter.AlignRight)
	defer w.Flush()
	fmt.Fprintln(w, "program\tload\tCPU per 1,000 updates, ms\tof kube-state-metrics'\tchange to metric p50 / p99, ms\tafter a bare watch, ms\tRSS before / after the updates, MB\t")
	theirs := unmeasured
	for _, v := range all {
		if v.name == rivals[0].name {
			theirs = v.cpu
		}
		fmt.Fprintf(w, "%s\t%s\t%.0f\t%.2f\t%.0f / %.0f\t%.0f / %.0f\t%.0f / %.0f\t\n", v.name, v.load, v.cpu*milli, v.cpu/theirs,
			v.visible50*milli, v.visible99*milli, v.own50*milli, v.own99*milli, v.before.rss*mega, v.after.rss*mega)
	}
}
