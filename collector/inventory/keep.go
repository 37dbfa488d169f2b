package inventory

import (
	"cmp"
	"strings"
	"time"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// KeepAnnotation is the annotation of a claim or a volume that says until when the volume is kept on purpose, though nobody uses it:
//
//	kubevoltracker.io/keep: "until 2027-01-31: audit"
const KeepAnnotation = "kubevoltracker.io/keep"

// keep is what the annotations of a volume and of its claim say.
type keep struct {
	until      fact.Time // the end of the day that is named, in UTC; absent if no annotation can be read
	reason     string    // of the annotation that is valid for longest
	unreadable string    // the text of an annotation that cannot be read
}

// keepYears bound the dates that are read: outside of them a typing error is likelier, and ClickHouse's DateTime64 ends in 2299.
var keepYears = [2]int{2000, 2199}

// parseKeep reads the text of an annotation: "until", a date, and after a colon the reason, which can be absent. The day that is
// named is the last one, and ends at midnight in UTC. It reports whether the text can be read.
func parseKeep(text string) (k keep, ok bool) {
	date, reason, _ := strings.Cut(text, ":")
	fields := strings.Fields(date)
	if len(fields) != 2 || !strings.EqualFold(fields[0], "until") {
		return keep{}, false
	}
	day, err := time.Parse(time.DateOnly, fields[1])
	if err != nil || day.Year() < keepYears[0] || day.Year() > keepYears[1] {
		return keep{}, false
	}
	return keep{until: fact.At(day.AddDate(0, 0, 1)), reason: strings.TrimSpace(reason)}, true
}

// keepOf returns until when a volume is kept: the later of the dates that its annotation and that of its living claim have. The
// annotation of a claim ends with the claim. Its texts are cut: each row of volume_states has them.
func (inv *Inventory) keepOf(v *volume) (k keep) {
	var texts []string
	if text, ok := v.annotations.Value().Lookup(KeepAnnotation); ok {
		texts = append(texts, text)
	}
	if c := v.user; c != nil && c.deleted == 0 {
		if text, ok := c.annotations.Value().Lookup(KeepAnnotation); ok {
			texts = append(texts, text)
		}
	}
	for _, text := range texts {
		one, ok := parseKeep(text)
		switch {
		case !ok:
			k.unreadable = cmp.Or(cutLine(text, mostLineBytes), emptyText)
		case one.until > k.until:
			k.until, k.reason = one.until, cutLine(one.reason, mostLineBytes)
		}
	}
	return k
}

// emptyText stands for the text of an annotation that has none, because no text means that all annotations can be read.
const emptyText = `""`
