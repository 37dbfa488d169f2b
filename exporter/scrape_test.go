package exporter

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"google.golang.org/protobuf/encoding/protodelim"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// fullExporter has a series in each family, and labels that need escaping.
func fullExporter() *Exporter {
	e := newTestExporter()
	idle := testVolume()
	idle.UID, idle.Name, idle.Status = "u2", "pv-2", fact.VolumeIdle
	idle.LastUsed, idle.IdleSince = ago(time.Hour)+1, ago(time.Hour)
	idle.Owner = "a\\b\"c\nd} é,x=\""
	idle.Used, idle.Measured, idle.UsedBytes, idle.AvailableBytes, idle.Inodes, idle.InodesUsed = true, true, 1, 2, 3, 4
	bound := claimChange(fact.Bound)
	bound.Took, bound.Measured = 3*time.Second, true
	e.Apply(&fact.Update{
		Watched: []fact.Span{watchedAgo(time.Minute, 0)},
		Volumes: []fact.VolumeState{testVolume(), idle},
		Claims:  []fact.ClaimState{testClaim()},
		Facts: fact.Facts{Changes: []fact.Change{
			volumeChange(fact.Created), claimChange(fact.Created), bound,
			{Kind: "Pod", Namespace: "shop", Action: fact.Mounted},
			{Kind: "Pod", Namespace: "shop", Action: fact.Started, Took: time.Second, Measured: true},
		}},
	})
	return e
}

func TestExpositionIsFreeOfLint(t *testing.T) {
	problems, err := promlint.New(get(fullExporter().Handler(), acceptText).Body).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestFamiliesAreSortedAndHaveOneHeader(t *testing.T) {
	for _, accept := range []string{acceptText, acceptOpenMetrics} {
		var names []string
		for line := range strings.Lines(get(fullExporter().Handler(), accept).Body.String()) {
			if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
				names = append(names, strings.Fields(rest)[0])
			}
		}
		// OpenMetrics takes _total off a counter's name, behind which the order of
		// the text format need not be one.
		sorted := slices.Sorted(slices.Values(names))
		if accept == acceptText && !slices.Equal(names, sorted) {
			t.Errorf("%s: families are not in order: %v", accept, names)
		}
		if len(slices.Compact(sorted)) != len(names) {
			t.Errorf("%s: a family comes twice: %v", accept, names)
		}
		if len(names) < 60 || !slices.Contains(names, "kubevoltracker_build_info") {
			t.Errorf("%s: only %d families: %v", accept, len(names), names)
		}
	}
}

// Of OpenMetrics' rules those that the text format does not have.
func TestOpenMetrics(t *testing.T) {
	w := get(fullExporter().Handler(), acceptOpenMetrics)
	if got := w.Header().Get("Content-Type"); !strings.HasPrefix(got, "application/openmetrics-text; version=1.0.0; charset=utf-8") {
		t.Errorf("Content-Type is %q", got)
	}
	body, ended := strings.CutSuffix(w.Body.String(), "# EOF\n")
	if !ended || strings.Contains(body, "# EOF") {
		t.Error("does not end with its only # EOF")
	}
	sample := regexp.MustCompile(`^([a-z_]+)(\{([a-z_]+="([^"\\\n]|\\["\\n])*"(,|\}))+)? [-+0-9.e]+(Inf)?$`)
	suffixes := map[string][]string{
		"gauge": {""}, "counter": {"_total", "_created"}, "unknown": {""},
		"histogram": {"_bucket", "_count", "_sum", "_created"}, "summary": {"", "_count", "_sum", "_created"},
	}
	var name, kind string
	for line := range strings.Lines(body) {
		line = strings.TrimSuffix(line, "\n")
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, kind, _ = strings.Cut(rest, " ")
			continue
		}
		if strings.HasPrefix(line, "# HELP ") || strings.HasPrefix(line, "# UNIT "+name+" ") {
			continue
		}
		m := sample.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("not a sample: %s", line)
			continue
		}
		if suffix, ok := strings.CutPrefix(m[1], name); !ok || !slices.Contains(suffixes[kind], suffix) {
			t.Errorf("in %s %s: %s", kind, name, line)
		}
	}
	for _, want := range []string{"kubevoltracker_volumes_created_total{", "kubevoltracker_volumes_created_created{", "kubevoltracker_namespace_capacity_byte_seconds_created{"} {
		if !strings.Contains(body, "\n"+want) {
			t.Errorf("no %s", want)
		}
	}
}

func TestProtobufHasWhatTheTextHas(t *testing.T) {
	e := fullExporter()
	h := http.HandlerFunc(e.scrape) // without the instrumentation, which counts
	ours := func(name string) bool { return strings.HasPrefix(name, "kubevoltracker_") }

	parser := expfmt.NewTextParser(model.UTF8Validation)
	text, err := parser.TextToMetricFamilies(get(h, acceptText).Body)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for name, mf := range text {
		if ours(name) {
			want[name] = familyText(t, mf)
		}
	}

	w := get(h, acceptProto)
	if got := w.Header().Get("Content-Type"); !strings.HasPrefix(got, "application/vnd.google.protobuf") {
		t.Errorf("Content-Type is %q", got)
	}
	native := 0
	r := bufio.NewReader(w.Body)
	for {
		mf := &dto.MetricFamily{}
		if err := protodelim.UnmarshalFrom(r, mf); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if !ours(mf.GetName()) {
			continue
		}
		if got := familyText(t, mf); got != want[mf.GetName()] {
			t.Errorf("as protobuf:\n%s\nas text:\n%s", got, want[mf.GetName()])
		}
		delete(want, mf.GetName())
		for _, m := range mf.GetMetric() {
			checkCreated(t, mf.GetName(), m)
			if m.GetHistogram().GetSchema() != 0 && len(m.GetHistogram().GetPositiveSpan()) > 0 {
				native++
			}
		}
	}
	for name := range want {
		t.Errorf("%s is missing", name)
	}
	if native != 2 {
		t.Errorf("%d native histograms, want 2", native)
	}
}

// checkCreated checks that a counter or histogram says when it began.
func checkCreated(t *testing.T, name string, m *dto.Metric) {
	t.Helper()
	if m.Counter != nil && m.Counter.CreatedTimestamp == nil || m.Histogram != nil && m.Histogram.CreatedTimestamp == nil {
		t.Errorf("no created timestamp in %s: %v", name, m)
	}
}

func familyText(t *testing.T, mf *dto.MetricFamily) string {
	t.Helper()
	var b strings.Builder
	if _, err := expfmt.MetricFamilyToText(&b, mf); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFormatIsNegotiated(t *testing.T) {
	const text = "text/plain; version=0.0.4; charset=utf-8"
	for accept, want := range map[string]string{
		"":                                text,
		"text/html,*/*;q=0.8":             text,
		acceptText:                        text,
		"application/openmetrics-text":    "application/openmetrics-text; version=0.0.1; charset=utf-8",
		acceptProto + ";q=0.6,text/plain": text,
		"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=compact-text": text,
	} {
		if got := get(fullExporter().Handler(), accept).Header().Get("Content-Type"); !strings.HasPrefix(got, want) {
			t.Errorf("%q: Content-Type is %q, want %q", accept, got, want)
		}
	}
}

func TestCompression(t *testing.T) {
	h := http.HandlerFunc(fullExporter().scrape)
	want := ownLines(get(h, acceptText).Body)
	for _, tc := range []struct{ accept, want string }{
		{"", ""}, {"identity", ""}, {"br", ""}, {"gzip", "gzip"}, {"deflate, GZIP;q=0.5", "gzip"}, {"gzip;q=0", ""},
		{"zstd", "zstd"}, {"zstd,gzip", "zstd"}, {"gzip, zstd;q=0.5", "gzip"}, {"gzip;q=0.5, zstd;q=0", "gzip"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r.Header.Set("Accept", acceptText)
		r.Header.Set("Accept-Encoding", tc.accept)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if got := w.Header().Get("Content-Encoding"); got != tc.want || w.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("%q: Content-Encoding is %q, want %q; Vary is %q", tc.accept, got, tc.want, w.Header().Get("Vary"))
			continue
		}
		var body io.Reader = w.Body
		var err error
		switch tc.want {
		case "gzip":
			body, err = gzip.NewReader(w.Body)
		case "zstd":
			body, err = zstd.NewReader(w.Body)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := ownLines(body); !slices.Equal(got, want) {
			t.Errorf("%q: %d lines, which are not the %d of plain text", tc.accept, len(got), len(want))
		}
	}
}

// ownLines returns the tracker's own series; the Go runtime's differ between two scrapes.
func ownLines(text io.Reader) (lines []string) {
	for scanner := bufio.NewScanner(text); scanner.Scan(); {
		if strings.HasPrefix(scanner.Text(), "kubevoltracker_") {
			lines = append(lines, scanner.Text())
		}
	}
	return lines
}

func TestAResponseThatBreaksOffDoesNotLookWhole(t *testing.T) {
	for _, encoding := range []string{"", "gzip", "zstd"} {
		e := New(Options{Registry: prometheus.NewRegistry(), PerVolume: true})
		e.scrapes.max = 1
		e.Apply(benchUpdate(1000)) // more than the encoders keep back
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r.Header.Set("Accept-Encoding", encoding)
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); got != http.ErrAbortHandler.Error() {
					t.Errorf("%q: the handler ended with %v, want http.ErrAbortHandler", encoding, got)
				}
			}()
			e.Handler().ServeHTTP(brokenWriter{}, r)
		}()
		if w := get(e.Handler(), acceptText); w.Code != http.StatusOK {
			t.Errorf("%q: the scrape after that answered %d", encoding, w.Code)
		}
	}
}

// brokenWriter is a reader that has left.
type brokenWriter struct{}

func (brokenWriter) Header() http.Header       { return http.Header{} }
func (brokenWriter) WriteHeader(int)           {}
func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("the reader has left") }

func TestFailingCollectorCostsOnlyItsOwnMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	e := New(Options{Registry: reg, PerVolume: true})
	reg.MustRegister(failing{prometheus.NewDesc("kubevoltracker_broken", "Broken.", nil, nil)})
	e.Apply(volumesUpdate(testVolume()))
	if got := samples(t, e, "kubevoltracker_volume_mounts"); got == "" {
		t.Error("the volumes are missing")
	}
}

type failing struct{ desc *prometheus.Desc }

func (f failing) Describe(ch chan<- *prometheus.Desc) { ch <- f.desc }
func (f failing) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.NewInvalidMetric(f.desc, errors.New("broken"))
}

func TestNameRegisteredTwiceIsAnError(t *testing.T) {
	reg := prometheus.NewRegistry()
	e := New(Options{Registry: reg, PerVolume: true})
	reg.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "kubevoltracker_volume_info", Help: "Taken."}))
	if w := get(e.Handler(), acceptText); w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "kubevoltracker_volume_info") {
		t.Errorf("answered %d: %s", w.Code, w.Body)
	}
}

func TestTooManyScrapesAreTurnedAway(t *testing.T) {
	e := New(Options{Registry: prometheus.NewRegistry(), PerVolume: true})
	e.scrapes.max = 2
	e.Apply(volumesUpdate(testVolume()))
	slow := &stuckWriter{release: make(chan struct{}), stuck: make(chan struct{}, 2)}
	done := make(chan struct{})
	for range 2 {
		go func() {
			e.scrape(slow, httptest.NewRequest(http.MethodGet, "/metrics", nil))
			done <- struct{}{}
		}()
	}
	<-slow.stuck
	<-slow.stuck

	if w := get(e.Handler(), acceptText); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("a third scrape answered %d, want 503 with Retry-After", w.Code)
	}
	// Nor is the collector held up: this would not return.
	e.Apply(volumesUpdate(fact.VolumeState{UID: "u1", Gone: true}))

	close(slow.release)
	<-done
	<-done
	if w := get(e.Handler(), acceptText); w.Code != http.StatusOK {
		t.Errorf("with all slots free again a scrape answered %d", w.Code)
	}
}

func TestSlotOfAClientThatDoesNotReadComesBack(t *testing.T) {
	for _, encoding := range []string{"identity", "gzip", "zstd"} {
		t.Run(encoding, func(t *testing.T) {
			e := New(Options{Registry: prometheus.NewRegistry(), PerVolume: true})
			e.scrapes.max = 1
			e.stall = 100 * time.Millisecond
			e.Apply(benchUpdate(2000))
			// A pipe has no buffer: the server cannot write what the client does not read.
			client, conn := net.Pipe()
			defer client.Close()
			server := &http.Server{Handler: e.Handler(), WriteTimeout: writeTimeout}
			defer server.Close()
			go server.Serve(&oneConn{conn: conn})
			fmt.Fprintf(client, "GET /metrics HTTP/1.1\r\nHost: tracker\r\nAccept-Encoding: %s\r\n\r\n", encoding)
			if _, err := client.Read(make([]byte, 1)); err != nil { // now the scrape has its slot
				t.Fatal(err)
			}
			awaitSlot(t, e)
			if w := get(e.Handler(), acceptText); w.Code != http.StatusOK {
				t.Errorf("the next scrape answered %d", w.Code)
			}
			// The slot came back because the response was cut, and not because it was complete.
			if rest, err := io.ReadAll(client); err != nil || bytes.HasSuffix(rest, []byte("0\r\n\r\n")) {
				t.Errorf("the client read %d bytes more, to the end of the response; %v", len(rest), err)
			}
		})
	}
}

// awaitSlot waits until the scrape that has run longest has ended.
func awaitSlot(t *testing.T, e *Exporter) {
	t.Helper()
	e.scrapes.mu.Lock()
	taken := slices.Clone(e.scrapes.taken)
	e.scrapes.mu.Unlock()
	if len(taken) == 0 {
		return
	}
	select {
	case <-taken[0].free:
	case <-time.After(20 * time.Second):
		t.Fatal("the slot did not come back")
	}
}

// trickle asks for the metrics, and returns once the answer begins. Then it reads part bytes each pause, until the
// connection ends.
func trickle(t *testing.T, client net.Conn, part int64, pause time.Duration) {
	t.Helper()
	t.Cleanup(func() { _ = client.Close() })
	fmt.Fprint(client, "GET /metrics HTTP/1.1\r\nHost: tracker\r\n\r\n")
	if _, err := client.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	go func() {
		for range time.Tick(pause) {
			if _, err := io.CopyN(io.Discard, client, part); err != nil {
				return
			}
		}
	}()
}

func TestSlotOfAClientThatTricklesComesBack(t *testing.T) {
	e := New(Options{Registry: prometheus.NewRegistry(), PerVolume: true})
	e.scrapes.max = 1
	e.stall = 300 * time.Millisecond
	e.Apply(benchUpdate(20_000))
	client, conn := net.Pipe()
	server := &http.Server{Handler: e.Handler(), WriteTimeout: writeTimeout}
	defer server.Close()
	go server.Serve(&oneConn{conn: conn})
	trickle(t, client, 16<<10, 50*time.Millisecond) // 64 KB in 200 ms: less than the stall, and 0.3 MB/s
	awaitSlot(t, e)
}

// A host that reads as slowly as it may, and asks again whenever it is cut off, leaves room for others.
func TestSlotsAreShared(t *testing.T) {
	e := New(Options{Registry: prometheus.NewRegistry(), PerVolume: true})
	e.stall = time.Hour
	e.Apply(benchUpdate(20_000))
	addresses, _ := serve(t, ServerOptions{Metrics: e.Handler()})
	for round := range 3 {
		e.scrapes.mu.Lock()
		left := e.scrapes.max - len(e.scrapes.taken)
		e.scrapes.mu.Unlock()
		for range left {
			client := dialFrom(t, "127.0.0.2", addresses[0])
			if err := client.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
				t.Fatal(err)
			}
			trickle(t, client, 1<<10, 20*time.Millisecond)
		}
		if code, body := do(t, "GET", "http://"+addresses[0]+"/metrics"); code != http.StatusOK || !strings.Contains(body, "\nkubevoltracker_volume_state{") {
			t.Errorf("round %d: another client was answered %d: %.200s", round, code, body)
		}
	}
	for _, of := range []struct {
		clients string // of the slots that are taken, by age
		client  string // that asks
		want    string // slots after that
	}{
		{"", "b", "b"}, {"aaab", "b", "aaabb"}, {"aaaaa", "b", "aaaab"}, {"aaaab", "b", "aaabb"}, {"babaa", "c", "bbaac"},
		{"aaabb", "b", "aaabb"}, {"aaaaa", "a", "aaaaa"}, {"abcde", "f", "abcde"}, {"abcda", "e", "bcdae"},
	} {
		s := slots{max: 5}
		for _, client := range of.clients {
			own := s.take(string(client), http.NewResponseController(&stuckWriter{}))
			close(own.free) // the scrape of this slot has ended, so take does not wait for it
		}
		s.take(of.client, http.NewResponseController(&stuckWriter{}))
		got := ""
		for _, own := range s.taken {
			got += own.client
		}
		if got != of.want {
			t.Errorf("of %q, and %s asks: %q, want %q", of.clients, of.client, got, of.want)
		}
	}
}

// oneConn is a listener with one connection.
type oneConn struct{ conn net.Conn }

func (l *oneConn) Accept() (net.Conn, error) {
	conn := l.conn
	if l.conn = nil; conn == nil {
		return nil, net.ErrClosed
	}
	return conn, nil
}
func (*oneConn) Close() error   { return nil }
func (*oneConn) Addr() net.Addr { return &net.TCPAddr{} }

func TestSlotOfAStalledStreamComesBack(t *testing.T) {
	e := New(Options{Registry: prometheus.NewRegistry(), PerVolume: true})
	e.scrapes.max = 1
	e.stall = 100 * time.Millisecond
	e.Apply(benchUpdate(20_000)) // more than the 4 MB that Go's client takes before its caller reads
	server := httptest.NewUnstartedServer(e.Handler())
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	server.Client().Transport.(*http.Transport).DisableCompression = true
	resp, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	awaitSlot(t, e)
	if n, err := io.Copy(io.Discard, resp.Body); err == nil || resp.ProtoMajor != 2 {
		t.Errorf("the client read the response to its end, %d bytes, by %s", n, resp.Proto)
	}
}

func TestClientThatReadsHasMoreTime(t *testing.T) {
	for _, accept := range []string{acceptText, acceptProto} {
		e := newTestExporter()
		e.Apply(benchUpdate(2000))
		begun := time.Now()
		var w deadlines
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r.Header.Set("Accept", accept)
		e.scrape(&w, r)
		if len(w.set) < 4 || w.longest > 64<<10 || !slices.IsSortedFunc(w.set, time.Time.Compare) {
			t.Errorf("%s: the deadlines are %v, want a later one for each part, of which the longest has %d bytes", accept, w.set, w.longest)
		}
		from, to := begun.Add(stallTimeout), time.Now().Add(stallTimeout)
		for _, at := range w.set {
			if at.Before(from) || at.After(to) {
				t.Errorf("%s: a deadline is %s after the beginning", accept, at.Sub(begun))
			}
		}
	}
}

// deadlines is a reader that reads all, and records the deadlines that it is given.
type deadlines struct {
	set     []time.Time
	longest int // the most bytes that one deadline was for
}

func (w *deadlines) WriteHeader(int) {}
func (w *deadlines) Write(p []byte) (int, error) {
	w.longest = max(w.longest, len(p))
	return len(p), nil
}

func (w *deadlines) Header() http.Header { return http.Header{} }
func (w *deadlines) SetWriteDeadline(at time.Time) error {
	w.set = append(w.set, at)
	return nil
}

// stuckWriter is a reader that does not read until it is released.
type stuckWriter struct{ release, stuck chan struct{} }

func (*stuckWriter) Header() http.Header { return http.Header{} }
func (*stuckWriter) WriteHeader(int)     {}
func (w *stuckWriter) Write(p []byte) (int, error) {
	select {
	case w.stuck <- struct{}{}:
	default:
	}
	<-w.release
	return len(p), nil
}

func TestHeadSendsNoBody(t *testing.T) {
	w := httptest.NewRecorder()
	fullExporter().Handler().ServeHTTP(w, httptest.NewRequest(http.MethodHead, "/metrics", nil))
	if got := fmt.Sprint(w.Code, " ", w.Body.Len(), " ", w.Header().Get("Content-Type") != ""); got != "200 0 true" {
		t.Errorf("code, length, has type: %s", got)
	}
}
