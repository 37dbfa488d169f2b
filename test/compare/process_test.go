package compare

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// measured is a running program with metrics.
type measured struct {
	process *exec.Cmd
	metrics string // URL
	profile string // URL of its heap profile, which collects garbage first
	started time.Time
}

func launch(t testing.TB, cmd *exec.Cmd) *measured {
	t.Helper()
	m := &measured{process: cmd, started: time.Now()}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *measured) stop() {
	_ = m.process.Process.Signal(syscall.SIGTERM)
	kill := time.AfterFunc(30*time.Second, func() { _ = m.process.Process.Kill() })
	defer kill.Stop()
	_ = m.process.Wait()
}

// memory is what the kernel counts as a process's memory, in bytes.
type memory struct{ rss, anonymous, file, peak float64 }

func memoryOf(t testing.TB, pid int) memory {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		if n, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64); err == nil {
			fields[name] = n * 1024
		}
	}
	return memory{fields["VmRSS"], fields["RssAnon"], fields["RssFile"], fields["VmHWM"]}
}

// rest has the process collect garbage, waits until it returns no more memory to the kernel, for four minutes at
// most, and returns its memory then.
func (m *measured) rest(t testing.TB) memory {
	t.Helper()
	for range 2 { // the second collects what finalizers have freed
		r, err := http.Get(m.profile)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		r.Body.Close()
		if r.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", m.profile, r.Status)
		}
	}
	const step = 10 * time.Second
	now := memoryOf(t, m.process.Process.Pid)
	for start := time.Now(); time.Since(start) < 4*time.Minute; {
		time.Sleep(step)
		before := now
		if now = memoryOf(t, m.process.Process.Pid); now.rss > 0.99*before.rss {
			break
		}
	}
	return now
}

// cpuOf returns the processor time that a process has used, in user mode and in the kernel.
func cpuOf(t testing.TB, pid int) time.Duration {
	t.Helper()
	fields, err := harness.Stat(pid)
	if err != nil {
		t.Fatal(err)
	}
	var ticks time.Duration
	for _, field := range fields[11:13] {
		n, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		ticks += time.Duration(n)
	}
	return ticks * time.Second / 100 // USER_HZ is 100 wherever Linux runs Go
}

// scraped is what a scrape took.
type scraped struct {
	took  time.Duration // from the request to the last byte
	bytes int64         // of the body, as it came
}

// The one client of all that is measured: it keeps its connection, as Prometheus does.
var benchClient = &http.Client{Transport: &http.Transport{DisableCompression: true}}

// scrape gets the metrics, and calls see with each line if that is not nil.
func (m *measured) scrape(encoding string, see func(line []byte)) (scraped, error) {
	r, err := http.NewRequest(http.MethodGet, m.metrics, nil)
	if err != nil {
		return scraped{}, err
	}
	r.Header.Set("Accept", "text/plain;version=0.0.4")
	r.Header.Set("Accept-Encoding", encoding)
	start := time.Now()
	response, err := benchClient.Do(r)
	if err != nil {
		return scraped{}, err
	}
	defer response.Body.Close()
	if got := response.Header.Get("Content-Encoding"); response.StatusCode != http.StatusOK || encoding == "gzip" && got != "gzip" {
		return scraped{}, fmt.Errorf("%s: %s, encoding %q", m.metrics, response.Status, got)
	}
	body := &counter{r: response.Body}
	if see == nil {
		_, err = io.Copy(io.Discard, body)
	} else {
		err = eachLine(body, encoding, see)
	}
	return scraped{time.Since(start), body.n}, err
}

// counter counts what is read.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func eachLine(r io.Reader, encoding string, see func([]byte)) error {
	if encoding == "gzip" {
		z, err := gzip.NewReader(r)
		if err != nil {
			return err
		}
		r = z
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 1<<20), 1<<20)
	for lines.Scan() {
		see(lines.Bytes())
	}
	return lines.Err()
}

// scrapes returns the times of a hundred scrapes, or of as many as half a minute allows, and of ten at least.
func (m *measured) scrapes(t testing.TB, encoding string) (times []time.Duration, bytes int64) {
	t.Helper()
	for start := time.Now(); len(times) < 10 || len(times) < 100 && time.Since(start) < 30*time.Second; {
		s, err := m.scrape(encoding, nil)
		if err != nil {
			t.Fatal(err)
		}
		times, bytes = append(times, s.took), s.bytes
	}
	return times, bytes
}

// quantile returns a quantile by the nearest rank. Of fewer than a hundred times, the 0.99 is the largest.
func quantile(times []time.Duration, q float64) float64 {
	if len(times) == 0 {
		return unmeasured
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))].Seconds()
}
