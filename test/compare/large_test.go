package compare

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// TestCompareLarge measures the first start of the tracker and its restart after SIGKILL on an API server
// with COMPARE_LARGE volumes and claims, and half as many pods again: how long they take, and how much
// memory. Nothing fails on a number.
func TestCompareLarge(t *testing.T) {
	for _, n := range sizesOf(t, "COMPARE_LARGE") {
		c := startBenchCluster(t)
		c.fill(t, n)
		first, restart := measureRestart(t, c.kubeconfig, n)
		printStarts(t, fmt.Sprintf("%d volumes and claims, %d pods of two containers", n, n+n/2), first, restart)
	}
}

// start is what a start of the tracker takes; seconds and bytes.
type start struct {
	ready   float64 // until /readyz answers 200
	whole   float64 // until a scrape began that shows all volumes
	settled float64 // until all rows are in ClickHouse
	after20 memory  // 20 seconds after ready
	resting memory  // after garbage collections; the peak is that of all the time until then
	journal float64 // of the journal's files
	scrape  float64 // p50
}

// measureRestart starts the tracker with an empty directory, kills it at rest, and starts it again.
func measureRestart(t testing.TB, kubeconfig string, n int) (first, restart start) {
	t.Helper()
	dir := t.TempDir()
	first = measureStart(t, kubeconfig, dir, n, func(m *measured) {
		_ = m.process.Process.Signal(syscall.SIGKILL)
		_ = m.process.Wait()
	})
	restart = measureStart(t, kubeconfig, dir, n, (*measured).stop)
	return first, restart
}

func measureStart(t testing.TB, kubeconfig, dir string, n int, end func(*measured)) (s start) {
	t.Helper()
	port := harness.FreePort(t)
	address := "127.0.0.1:" + port
	cmd := exec.Command(harness.Program(t, "kubevoltracker"), harness.RunArgs(t,
		"--kube.kubeconfig="+kubeconfig, "--data-dir="+dir, "--web.listen-address="+address, "--web.enable-pprof")...)
	m := launch(t, cmd)
	defer end(m)
	m.metrics, m.profile = "http://"+address+"/metrics", "http://"+address+"/debug/pprof/heap?gc=1"
	s.ready = awaitReady(t, m, "http://"+address+"/readyz")
	r := rivals[len(rivals)-1]
	s.whole = r.awaitWhole(t, m, n)
	time.Sleep(time.Until(m.started.Add(time.Duration(s.ready*float64(time.Second)) + 20*time.Second)))
	pid := m.process.Process.Pid
	s.after20 = memoryOf(t, pid)
	s.settled = awaitCatalog(t, m)
	times, _ := m.scrapes(t, "identity")
	s.scrape = quantile(times, 0.5)
	s.resting = m.rest(t)
	s.journal = sizeOf(t, dir, "journal")
	return s
}

// awaitReady returns how long after its start a program answered that it is ready.
func awaitReady(t testing.TB, m *measured, url string) float64 {
	t.Helper()
	for time.Since(m.started) < 5*time.Minute {
		if r, err := http.Get(url); err == nil {
			r.Body.Close()
			if r.StatusCode == http.StatusOK {
				return time.Since(m.started).Seconds()
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("the tracker does not become ready")
	return 0
}

// sizeOf is how many bytes the files have whose path below dir begins with a prefix.
func sizeOf(t testing.TB, dir, prefix string) (bytes float64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasPrefix(strings.TrimPrefix(path, dir+"/"), prefix) {
			return nil //nolint:nilerr // a file may go meanwhile
		}
		if info, err := entry.Info(); err == nil {
			bytes += float64(info.Size())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

func printStarts(t testing.TB, title string, first, restart start) {
	fmt.Fprintf(t.Output(), "\n%s\n\n", title)
	w := tabwriter.NewWriter(t.Output(), 0, 0, 3, ' ', tabwriter.AlignRight)
	line := func(name, format string, of func(start) float64) {
		fmt.Fprintf(w, "%-40s\t%s\t%s\t\n", name, number(format, of(first)), number(format, of(restart)))
	}
	fmt.Fprintf(w, "%-40s\tfirst start\trestart after SIGKILL\t\n", "")
	line("start to ready, s", "%.1f", func(s start) float64 { return s.ready })
	line("start to all volumes in a scrape, s", "%.1f", func(s start) float64 { return s.whole })
	line("ClickHouse: has all after, s", "%.1f", func(s start) float64 { return s.settled })
	line("RSS peak, MB", "%.0f", func(s start) float64 { return s.resting.peak * mega })
	line("RSS 20 s after ready, MB", "%.0f", func(s start) float64 { return s.after20.rss * mega })
	line("RSS at rest, MB", "%.0f", func(s start) float64 { return s.resting.rss * mega })
	line("journal, MB", "%.0f", func(s start) float64 { return s.journal * mega })
	line("scrape p50, ms", "%.0f", func(s start) float64 { return s.scrape * milli })
	_ = w.Flush()
	for _, s := range []struct {
		name  string
		start start
		ready float64
	}{{"first start", first, 15}, {"restart", restart, 8}} {
		judge(t.Output(), s.name+": start to ready, s", s.start.ready, s.ready)
		judge(t.Output(), s.name+": peak, of RSS at rest", s.start.resting.peak/first.resting.rss, 2)
		judge(t.Output(), s.name+": journal, MB", s.start.journal*mega, 250)
	}
}
