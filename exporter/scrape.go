package exporter

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/go-kit/log/level"
	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/exporter/statemetrics"
)

// Handler returns the handler of the telemetry path. It counts its requests on
// the Registry of the Options.
func (e *Exporter) Handler() http.Handler {
	return promhttp.InstrumentMetricHandler(e.health, http.HandlerFunc(e.scrape))
}

func (e *Exporter) scrape(w http.ResponseWriter, r *http.Request) {
	format := negotiate(r.Header)
	w.Header().Set("Content-Type", string(format))
	if r.Method == http.MethodHead {
		return
	}
	controller := http.NewResponseController(w)
	own := e.scrapes.take(host(r.RemoteAddr), controller)
	if own == nil {
		w.Header().Set("Retry-After", "1")
		http.Error(w, fmt.Sprintf("%d scrapes are running already, try again later", e.scrapes.max), http.StatusServiceUnavailable)
		return
	}
	defer e.scrapes.give(own)

	parts, err := e.parts()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	begun := time.Now()
	e.compress(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		out := &timedWriter{Writer: w, slot: own, stall: e.stall, begun: begun}
		if err := e.write(out, format, parts); err != nil {
			// The status has been sent, and most often the reader has left. The connection is cut,
			// because gzhttp would end an incomplete body as if it were complete.
			panic(http.ErrAbortHandler)
		}
	})).ServeHTTP(w, r)
}

// timedWriter ends a response that its client does not read, because the response has one of few slots
// for scrapes. The client has the time stall for each 64 KB, and after the first such time it has to have taken
// slowestRead bytes for each second, before compression. It also ends a response whose slot another client gets.
type timedWriter struct {
	io.Writer
	slot  *slot
	stall time.Duration
	begun time.Time
	bytes int // of the parts so far
}

func (w *timedWriter) Write(p []byte) (int, error) {
	const part = 64 << 10 // protobuf has a whole family in p
	for done := 0; ; {
		next := p[done:min(len(p), done+part)]
		w.bytes += len(next)
		deadline := time.Now().Add(w.stall) // not by Options.Now: the network compares it with the real clock
		if end := w.begun.Add(w.stall + time.Duration(w.bytes)*time.Second/slowestRead); end.Before(deadline) {
			deadline = end
		}
		// A test's recorder has no deadlines (http.ErrNotSupported); a connection that is closed fails in Write.
		_ = w.slot.response.SetWriteDeadline(deadline)
		if w.slot.lost.Load() { // after the deadline is set, which may have replaced that of slot.end
			_ = w.slot.response.SetWriteDeadline(time.Unix(1, 0)) // gzhttp still writes what it has
			return done, errors.New("another client gets the slot")
		}
		n, err := w.Writer.Write(next)
		if done += n; err != nil || done == len(p) {
			return done, err
		}
	}
}

// newCompression returns gzhttp's wrapper, which sends zstd or gzip to a reader
// that accepts it. The fastest level shrinks the repetitive text twentyfold, and
// a gzip writer of that level takes 0.8 MB; gzhttp's pool keeps idle writers only
// until the second garbage collection.
func newCompression() func(http.Handler) http.HandlerFunc {
	wrap, err := gzhttp.NewWrapper(gzhttp.CompressionLevel(gzip.BestSpeed))
	if err != nil {
		panic(err) // the options are constants
	}
	return wrap
}

// negotiate selects the format. Only protobuf carries native histograms, and Prometheus asks for it
// first if it is to store them, so all families are served in protobuf as well. Its two text forms,
// for people, are not served.
func negotiate(h http.Header) expfmt.Format {
	f := expfmt.NegotiateIncludingOpenMetrics(h)
	switch f.FormatType() {
	case expfmt.TypeTextPlain, expfmt.TypeOpenMetrics, expfmt.TypeProtoDelim:
		return f
	default:
		return expfmt.NewFormat(expfmt.TypeTextPlain)
	}
}

// part is one family of a response, from a registry or rendered here.
type part struct {
	name     string
	gathered *dto.MetricFamily // nil for a family that this package renders
	rendered family
}

// parts collects the families of one moment, by name.
func (e *Exporter) parts() ([]part, error) {
	m, err := e.moment()
	if err != nil {
		return nil, fmt.Errorf("copying usage metrics: %w", err)
	}
	gathered, err := m.usage.families()
	if err != nil {
		return nil, fmt.Errorf("gathering usage metrics: %w", err)
	}
	if !m.caughtUp {
		gathered = slices.DeleteFunc(gathered, func(f *dto.MetricFamily) bool { return f.GetType() != dto.MetricType_GAUGE })
	}
	// Other packages' collectors may take locks of their own, hence outside ours.
	// One that fails costs its own metrics, not the scrape.
	health, err := e.health.Gather()
	if err != nil {
		_ = level.Error(e.logger).Log("msg", "some of the tracker's own metrics are left out of a scrape", "err", err)
	}

	var parts []part
	for _, mf := range slices.Concat(gathered, health) {
		// In OpenMetrics this would be one family with the counter
		// go_memstats_alloc_bytes_total, which is the one worth having: the gauge
		// equals go_memstats_heap_alloc_bytes.
		if mf.GetName() == "go_memstats_alloc_bytes" {
			continue
		}
		parts = append(parts, part{name: mf.GetName(), gathered: mf})
	}
	rendered := append(namespaceSeries(m.groups, m.at.now), capacitySeries(m.capacity), classSeries(m.classes), attachmentSeries(m.attachments, m.at.now))
	if e.perVolume {
		rendered = append(rendered, volumeSeries(m.rows, &m.at)...)
	}
	for _, f := range m.states.Families() {
		rendered = append(rendered, family{name: f.Name, help: f.Help, lines: f.Lines})
	}
	for _, f := range rendered {
		parts = append(parts, part{name: f.name, rendered: f})
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.name, b.name) })
	for i := 1; i < len(parts); i++ {
		if parts[i].name == parts[i-1].name {
			return nil, fmt.Errorf("the metric %s is registered by another package too", parts[i].name)
		}
	}
	return parts, nil
}

// moment is a copy of all values from the inventory, at one point between two updates.
type moment struct {
	at          instant
	rows        []*row
	groups      []group
	capacity    []fact.CapacityState
	classes     []fact.ClassState
	attachments []fact.AttachmentState
	states      statemetrics.Moment
	usage       usage
	caughtUp    bool // the counters can be shown
}

// moment copies, under the lock, 8 bytes a volume, 150 bytes a group, the counters, and 24 bytes for
// each object that has families of kube-state-metrics.
func (e *Exporter) moment() (moment, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	usage, err := e.copyUsage()
	if err != nil {
		return moment{}, err
	}
	if e.caughtUp != nil && e.caughtUp() {
		e.caughtUp = nil
	}
	m := moment{at: instantOf(fact.At(e.now()), e.watched), groups: e.namespaces.present(), capacity: e.capacities.present(),
		classes: e.classes.present(), attachments: e.attachments.present(), states: e.states.Moment(), usage: usage, caughtUp: e.caughtUp == nil}
	if e.perVolume {
		rows, _ := e.volumes.shown()
		m.rows = slices.Clone(rows)
	}
	return m, nil
}

// write streams the parts. Memory does not grow with the number of volumes, except for protobuf,
// whose families begin with their length.
func (e *Exporter) write(out io.Writer, format expfmt.Format, parts []part) error {
	w := bufio.NewWriterSize(out, 64<<10)
	var opts []expfmt.EncoderOption
	if e.created {
		opts = append(opts, expfmt.WithCreatedLines())
	}
	enc := expfmt.NewEncoder(w, format, opts...)
	writeFamily := func(f family) error { return writeText(w, f) }
	if format.FormatType() == expfmt.TypeProtoDelim {
		writeFamily = (&protoWriter{w: w}).write
	}
	for _, p := range parts {
		var err error
		if p.gathered != nil {
			err = enc.Encode(p.gathered)
		} else {
			err = writeFamily(p.rendered)
		}
		if err != nil {
			return fmt.Errorf("writing %s: %w", p.name, err)
		}
	}
	if c, ok := enc.(expfmt.Closer); ok { // OpenMetrics' last line, # EOF
		if err := c.Close(); err != nil {
			return fmt.Errorf("ending the response: %w", err)
		}
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("flushing the response: %w", err)
	}
	return nil
}

// writeText writes a family in the text format, which for a gauge is the same as
// OpenMetrics. A family without samples is left out, as registries do.
func writeText(w *bufio.Writer, f family) error {
	var err error
	begun := false
	for line := range f.lines {
		if !begun {
			begun = true
			// Help texts are constants of this package without anything to escape.
			_, err = fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s gauge\n", f.name, f.help, f.name)
			if err != nil {
				return err
			}
		}
		_, _ = w.WriteString(f.name) // bufio keeps the first error
		if _, err = w.Write(line); err != nil {
			return err
		}
	}
	return nil
}
