package exporter

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

func TestAttachmentsThatWait(t *testing.T) {
	waits := func(uid, volume, operation string, since fact.Time) fact.AttachmentState {
		return fact.AttachmentState{UID: uid, Volume: volume, Node: "node-1", Attacher: "csi.example", Operation: operation, Since: since}
	}
	e := newTestExporter()
	e.Apply(&fact.Update{Attachments: []fact.AttachmentState{
		waits("a1", "pv-1", fact.Attaching, ago(time.Minute)), waits("a2", "pv-2", fact.Attaching, ago(time.Hour)),
		waits("former", "pv-2", fact.Detaching, ago(2*time.Hour)), waits("successor", "pv-2", fact.Attaching, ago(time.Second)),
	}})
	wantText(t, samples(t, e, attachmentName), `
kubevoltracker_attachment_pending_seconds{persistentvolume="pv-1",node="node-1",attacher="csi.example",operation="attach"} 60
kubevoltracker_attachment_pending_seconds{persistentvolume="pv-2",node="node-1",attacher="csi.example",operation="attach"} 3600
kubevoltracker_attachment_pending_seconds{persistentvolume="pv-2",node="node-1",attacher="csi.example",operation="detach"} 7200
`)
	// a1 is attached, and former deleted.
	e.Apply(&fact.Update{Attachments: []fact.AttachmentState{waits("a1", "pv-1", "", 0), waits("former", "pv-2", "", 0)}})
	wantText(t, samples(t, e, attachmentName), `
kubevoltracker_attachment_pending_seconds{persistentvolume="pv-2",node="node-1",attacher="csi.example",operation="attach"} 3600
`)
	off := New(Options{Registry: prometheus.NewRegistry(), NoAttachments: true, Now: testNow.Time})
	off.Apply(&fact.Update{Attachments: []fact.AttachmentState{waits("saved", "pv-1", fact.Attaching, ago(time.Hour))}})
	if text := get(http.HandlerFunc(off.scrape), acceptText).Body.String(); strings.Contains(text, attachmentName) {
		t.Error("an attachment that nobody watches is served")
	}
}

func TestCoverageAndItsLastGap(t *testing.T) {
	e := newTestExporter()
	if text := get(http.HandlerFunc(e.scrape), acceptText).Body.String(); strings.Contains(text, "_coverage_") {
		t.Error("coverage is served before pods are listed")
	}
	for name, c := range map[string]struct {
		spans []fact.Span
		want  string
	}{
		"the first span": {[]fact.Span{watchedAgo(time.Hour, 0)}, "0"},
		"after a gap":    {[]fact.Span{watchedAgo(3*time.Hour, 2*time.Hour), watchedAgo(time.Hour, 0)}, "3600"},
	} {
		e.Apply(&fact.Update{Watched: c.spans})
		text := get(http.HandlerFunc(e.scrape), acceptText).Body.String()
		if !strings.Contains(text, "\nkubevoltracker_coverage_last_gap_seconds "+c.want+"\n") ||
			!strings.Contains(text, "\nkubevoltracker_coverage_since_timestamp_seconds ") {
			t.Errorf("%s: want a gap of %s s", name, c.want)
		}
	}
}

func TestReadyIsAMetric(t *testing.T) {
	reg := prometheus.NewRegistry()
	var failed error
	RegisterReady(reg, []Check{{Name: "lists", Check: func() error { return failed }}})
	for _, want := range []float64{1, 0, 1} {
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		if got := families[0].GetMetric()[0].GetGauge().GetValue(); got != want {
			t.Errorf("ready is %v, want %v", got, want)
		}
		if failed == nil {
			failed = http.ErrServerClosed
		} else {
			failed = nil
		}
	}
}
