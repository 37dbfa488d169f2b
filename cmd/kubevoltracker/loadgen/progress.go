package loadgen

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress shows how far a run is: by a bar on a terminal, else by a line a second.
type progress struct {
	out  io.Writer
	bar  *progressbar.ProgressBar // nil without a terminal
	rate float64
}

func newProgress(o *Options) *progress {
	p := &progress{out: o.Progress, rate: o.Rate}
	if o.Terminal {
		p.bar = progressbar.NewOptions(int(o.Duration.Seconds()), progressbar.OptionSetWriter(o.Progress), progressbar.OptionSetWidth(30),
			progressbar.OptionSetDescription("loadgen"), progressbar.OptionClearOnFinish())
	}
	return p
}

func (p *progress) show(changes, refused, living int, after time.Duration) {
	text := fmt.Sprintf("%d changes, %.1f a second of %g, %d refused, %d objects", changes, float64(changes)/after.Seconds(), p.rate, refused, living)
	if p.bar == nil {
		fmt.Fprintf(p.out, "%s %s\n", after.Round(time.Second), text)
		return
	}
	p.bar.Describe(text)
	_ = p.bar.Set(min(int(after.Seconds()), p.bar.GetMax())) // a bar that cannot be drawn is no reason to end
}

func (p *progress) say(text string) {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	fmt.Fprintln(p.out, text)
}

func (p *progress) end(t *TotalsLine) {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
	fmt.Fprintf(p.out, "%d changes in %.1f seconds, %.1f a second of %g; %d refused, %d skipped; %d objects left\n", t.Changes, t.Seconds, t.Rate, p.rate, t.Refused, t.Skipped, t.Left)
}
