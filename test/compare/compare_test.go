package compare

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// TestCompare measures the tracker beside kube-state-metrics, on the same objects of the same API server, one after
// the other, by the same client. It prints and judges times, and fails by none. See docs/performance.md.
func TestCompare(t *testing.T) {
	sizes := sizesOf(t, "COMPARE_OBJECTS")
	c := startBenchCluster(t)
	for _, n := range sizes {
		c.grow(t, n)
		var all []measurement
		for _, r := range rivals {
			all = append(all, r.measure(t, c, n))
		}
		printTable(t, fmt.Sprintf("%d volumes, claims and pods of two containers", n), all)
		printVerdict(t, all[0], all[1], all[2])
		first, restart := measureRestart(t, c.kubeconfig, n)
		printStarts(t, fmt.Sprintf("starts of kubevoltracker with %d volumes, claims and pods of two containers", n), first, restart)
	}
}

// sizesOf reads sizes such as 5000,20000, in rising order, from the environment.
func sizesOf(t testing.TB, variable string) (sizes []int) {
	text := os.Getenv(variable)
	if text == "" {
		t.Skipf("set %s, or run `make compare`", variable)
	}
	for field := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(field)
		if err != nil || n < 1 {
			t.Fatalf("%s: %q is not a number of objects", variable, field)
		}
		sizes = append(sizes, n)
	}
	slices.Sort(sizes)
	return sizes
}

// rival is a program to be measured.
type rival struct {
	name, watched string
	launch        func(t testing.TB, kubeconfig string) *measured
	// whole are prefixes of lines of which there is one for each object.
	whole []string
	// podOf returns the pod of a line, and whether the pod runs. It is nil for a rival that does not watch pods.
	podOf func(line []byte) (pod int, runs, ok bool)
	// claims has the processor time of updates of claims measured. It is for a cluster that fill has filled.
	claims bool
}

var rivals = []rival{
	{
		name: "kube-state-metrics", watched: "volumes, claims, pods",
		launch: stateMetrics("persistentvolumes,persistentvolumeclaims,pods"),
		whole:  []string{"kube_persistentvolume_info{", "kube_persistentvolumeclaim_info{", "kube_pod_info{"},
		podOf:  stateMetricsPod,
	},
	{
		name: "kube-state-metrics", watched: "volumes, claims",
		launch: stateMetrics("persistentvolumes,persistentvolumeclaims"),
		whole:  []string{"kube_persistentvolume_info{", "kube_persistentvolumeclaim_info{"},
	},
	{
		name: "kubevoltracker", watched: "all",
		launch: benchTracker(),
		whole:  []string{"kubevoltracker_volume_info{"},
		podOf:  trackerPod,
	},
}

// stateMetrics runs kube-state-metrics by its defaults, and lets it compress.
func stateMetrics(resources string) func(testing.TB, string) *measured {
	return func(t testing.TB, kubeconfig string) *measured {
		port, own := harness.FreePort(t), harness.FreePort(t)
		m := launch(t, exec.Command(harness.Program(t, "kube-state-metrics"), "--resources="+resources, "--kubeconfig="+kubeconfig, "--enable-gzip-encoding",
			"--host=127.0.0.1", "--port="+port, "--telemetry-host=127.0.0.1", "--telemetry-port="+own))
		m.metrics, m.profile = "http://127.0.0.1:"+port+"/metrics", "http://127.0.0.1:"+own+"/debug/pprof/heap?gc=1"
		return m
	}
}

// benchTracker runs the tracker by its defaults and more flags, with its ClickHouse.
func benchTracker(flags ...string) func(testing.TB, string) *measured {
	return func(t testing.TB, kubeconfig string) *measured {
		return launchTracker(t, harness.Program(t, "kubevoltracker"), kubeconfig, flags...)
	}
}

// launchTracker runs a tracker that is built in the file program.
func launchTracker(t testing.TB, program, kubeconfig string, flags ...string) *measured {
	port := harness.FreePort(t)
	args := append([]string{"--kube.kubeconfig=" + kubeconfig, "--web.listen-address=127.0.0.1:" + port, "--web.enable-pprof"}, flags...)
	m := launch(t, exec.Command(program, harness.RunArgs(t, args...)...))
	m.metrics, m.profile = "http://127.0.0.1:"+port+"/metrics", "http://127.0.0.1:"+port+"/debug/pprof/heap?gc=1"
	return m
}

// stateMetricsPod reads kube_pod_status_phase{…,pod="db-17",…,phase="Running"} 1.
func stateMetricsPod(line []byte) (pod int, runs, ok bool) {
	if !bytes.HasPrefix(line, []byte("kube_pod_status_phase{")) || !bytes.Contains(line, []byte(`phase="Running"`)) {
		return 0, false, false
	}
	_, rest, _ := bytes.Cut(line, []byte(`pod="db-`))
	number, _, _ := bytes.Cut(rest, []byte(`"`))
	pod, err := strconv.Atoi(string(number))
	return pod, bytes.HasSuffix(line, []byte("} 1")), err == nil
}

// trackerPod reads kubevoltracker_volume_mounts{persistentvolume="pvc-…-000000000017"} 2,
// which is 0 without the pod, and 2 when both its containers run.
func trackerPod(line []byte) (pod int, runs, ok bool) {
	if !bytes.HasPrefix(line, []byte("kubevoltracker_volume_mounts{")) {
		return 0, false, false
	}
	name, value, _ := bytes.Cut(line, []byte(`"} `))
	pod, err := strconv.Atoi(string(name[max(0, len(name)-12):]))
	return pod, string(value) == "2", err == nil
}

// unmeasured is the value of a quantity that is not measured.
var unmeasured = math.NaN()

// measurement has what was measured, in seconds and bytes.
type measurement struct {
	name, watched        string
	load                 string // of the machine, when the measurement began
	ready, settled       float64
	atReady, scraped     memory
	resting, atEnd       memory
	engineRSS            float64 // of the tracker's ClickHouse, a process of its own
	plain50, plain99     float64
	gzip50, gzip99       float64
	plainCount           int
	gzipCount            int
	bytes, gzipBytes     float64
	series               float64
	plainCPU, gzipCPU    float64 // for one scrape
	cpu, engineCPU       float64 // for 1,000 updates of pods
	claimCPU             float64 // for 1,000 updates of claims
	visible50, visible99 float64
	visibleMax           float64
	own50, own99         float64 // of that, after a bare watch got the event
	rate                 float64 // changes of pods a second
}

// newMeasurement returns a measurement in which nothing is measured yet.
func newMeasurement(t testing.TB, name, watched string) measurement {
	no := memory{unmeasured, unmeasured, unmeasured, unmeasured}
	return measurement{
		name: name, watched: watched, load: load(t), ready: unmeasured, settled: unmeasured, atReady: no, scraped: no, resting: no, atEnd: no,
		engineRSS: unmeasured, cpu: unmeasured, engineCPU: unmeasured, claimCPU: unmeasured,
		visible50: unmeasured, visible99: unmeasured, visibleMax: unmeasured, own50: unmeasured, own99: unmeasured, rate: unmeasured,
	}
}

func (r *rival) measure(t testing.TB, c *benchCluster, n int) measurement {
	t.Logf("%s (%s)", r.name, r.watched)
	v := newMeasurement(t, r.name, r.watched)
	m := r.launch(t, c.kubeconfig)
	defer m.stop()
	pid := m.process.Process.Pid
	v.ready = r.awaitWhole(t, m, n)
	v.atReady = memoryOf(t, pid)
	v.settled = awaitCatalog(t, m)
	v.measureScrapes(t, m)
	engine := harness.ChildOf(t, pid)
	if engine != 0 {
		v.engineRSS = memoryOf(t, engine).rss
	}
	if r.podOf != nil {
		v.cpu, v.engineCPU = updateCPU(t, c, pid, engine, 6000)
		r.measureChanges(t, c, m, &v, min(n, 5000))
	}
	if r.claims {
		v.claimCPU = claimCPU(t, c, pid, n)
	}
	v.atEnd = memoryOf(t, pid)
	return v
}

// measureChanges measures how long changes of n pods take to show.
func (r *rival) measureChanges(t testing.TB, c *benchCluster, m *measured, v *measurement, n int) {
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	ch := c.etcd.changes(c, n)
	ch.received = c.watchPods(ctx, t, ch.pods).received
	v.seeChanges(changesVisible(t, m, r.podOf, ch))
}

// measureScrapes measures scrapes, and what memory the process has after them.
func (v *measurement) measureScrapes(t testing.TB, m *measured) {
	pid := m.process.Process.Pid
	began := cpuOf(t, pid)
	plain, size := m.scrapes(t, "identity")
	v.plain50, v.plain99, v.plainCount, v.bytes = quantile(plain, 0.5), quantile(plain, 0.99), len(plain), float64(size)
	between := cpuOf(t, pid)
	zipped, size := m.scrapes(t, "gzip")
	v.gzip50, v.gzip99, v.gzipCount, v.gzipBytes = quantile(zipped, 0.5), quantile(zipped, 0.99), len(zipped), float64(size)
	v.plainCPU, v.gzipCPU = (between-began).Seconds()/float64(len(plain)), (cpuOf(t, pid)-between).Seconds()/float64(len(zipped))
	v.series = float64(countSeries(t, m))
	v.scraped = memoryOf(t, pid)
	v.resting = m.rest(t)
}

func (v *measurement) seeChanges(times, own []time.Duration, rate float64) {
	v.own50, v.own99 = quantile(own, 0.5), quantile(own, 0.99)
	v.visible50, v.visible99, v.visibleMax, v.rate = quantile(times, 0.5), quantile(times, 0.99), quantile(times, 1), rate
}

// load is how busy the machine is with other things, too.
func load(t testing.TB) string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatal(err)
	}
	one, _, _ := strings.Cut(string(text), " ")
	return one
}

// awaitWhole scrapes until all objects show, and returns when that scrape began after the start. It scrapes half of
// the time at most, so as not to delay what it waits for.
func (r *rival) awaitWhole(t testing.TB, m *measured, n int) float64 {
	t.Helper()
	var counts []int
	for began := time.Now(); time.Since(m.started) < 5*time.Minute; began = time.Now() {
		counts = make([]int, len(r.whole))
		s, err := m.scrape("identity", func(line []byte) {
			for i, prefix := range r.whole {
				if bytes.HasPrefix(line, []byte(prefix)) {
					counts[i]++
				}
			}
		})
		if err == nil && slices.Min(counts) == n {
			return began.Sub(m.started).Seconds()
		}
		time.Sleep(max(50*time.Millisecond, s.took))
	}
	t.Fatalf("%s does not show all: %d of %d", r.name, counts, n)
	return 0
}

// awaitCatalog waits until the tracker has had nothing to write to ClickHouse for some seconds, and returns when
// that began after the start. Programs without a journal are unmeasured.
func awaitCatalog(t testing.TB, m *measured) float64 {
	t.Helper()
	const quiet = 5 * time.Second
	done := time.Now()
	for time.Since(m.started) < 10*time.Minute {
		journal, batches := "", "0"
		if _, err := m.scrape("identity", func(line []byte) {
			if value, ok := bytes.CutPrefix(line, []byte("kubevoltracker_journal_facts ")); ok {
				journal = string(value)
			} else if value, ok := bytes.CutPrefix(line, []byte("kubevoltracker_catalog_batches_total ")); ok {
				batches = string(value)
			}
		}); err != nil {
			t.Fatal(err)
		}
		switch {
		case journal == "":
			return unmeasured
		case journal != "0" || batches == "0":
			done = time.Now()
		case time.Since(done) > quiet:
			return done.Sub(m.started).Seconds()
		}
		time.Sleep(500 * time.Millisecond)
	}
	t.Fatal("the catalog does not catch up")
	return 0
}

func countSeries(t testing.TB, m *measured) (n int) {
	t.Helper()
	if _, err := m.scrape("gzip", func(line []byte) {
		if len(line) > 0 && line[0] != '#' {
			n++
		}
	}); err != nil {
		t.Fatal(err)
	}
	return n
}
