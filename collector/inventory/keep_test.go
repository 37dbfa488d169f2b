package inventory

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// endOf returns the end of a day in UTC.
func endOf(year int, month time.Month, day int) fact.Time {
	return fact.At(time.Date(year, month, day+1, 0, 0, 0, 0, time.UTC))
}

func TestKeepAnnotation(t *testing.T) {
	for text, want := range map[string]keep{
		"until 2027-01-31: audit":               {until: endOf(2027, 1, 31), reason: "audit"},
		"until 2027-01-31":                      {until: endOf(2027, 1, 31)},
		"until 2027-01-31:":                     {until: endOf(2027, 1, 31)},
		"  Until  2027-12-31 :  tax: see #12  ": {until: endOf(2027, 12, 31), reason: "tax: see #12"},
		"until 2028-02-29: leap":                {until: endOf(2028, 2, 29), reason: "leap"},
		"until 2001-01-01: long ago":            {until: endOf(2001, 1, 1), reason: "long ago"},
		"until 2199-12-31: long":                {until: endOf(2199, 12, 31), reason: "long"},
	} {
		got, ok := parseKeep(text)
		expect(t, text+" can be read", ok, true)
		expect(t, text, got, want)
	}
	for _, text := range []string{
		"", "until", "for ever", "true", "2027-01-31: audit", "until 2027-01-31 audit", "until 31.1.2027: audit", "until 2027-02-30: audit",
		"until 2027-1-31: audit", "until 12027-01-31: audit", "until 2300-01-01: too far", "until 0027-01-31: typing error", "until: 2027-01-31", "until 2027-01-31T00:00:00Z",
	} {
		if got, ok := parseKeep(text); ok {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}

// The annotation of a volume holds, and that of its claim while the claim exists; of two the later date holds.
func TestKeptVolume(t *testing.T) {
	claim := pvc("data", "c1", 1, "vol")
	volume := pv("vol", "v1", 1, claim, corev1.VolumeBound, 2)
	claimKept, volumeKept, claimUnreadable := claim.DeepCopy(), volume.DeepCopy(), claim.DeepCopy()
	claimKept.Annotations = map[string]string{KeepAnnotation: "until 2027-01-31: audit"}
	volumeKept.Annotations = map[string]string{KeepAnnotation: "until 2026-06-30: move"}
	claimUnreadable.Annotations = map[string]string{KeepAnnotation: "for ever"}
	claimEmpty := claim.DeepCopy()
	claimEmpty.Annotations = map[string]string{KeepAnnotation: ""}
	long := strings.Repeat("x", 100_000)
	claimLong, volumeLong := claim.DeepCopy(), volume.DeepCopy()
	claimLong.Annotations = map[string]string{KeepAnnotation: long}
	volumeLong.Annotations = map[string]string{KeepAnnotation: "until 2027-01-31: " + long}
	released := pv("vol", "v1", 1, claim, corev1.VolumeReleased, 8)
	for name, test := range map[string]struct {
		events []event
		want   keep
	}{
		"none":                          {[]event{set(1, claim), set(2, volume)}, keep{}},
		"of the claim":                  {[]event{set(1, claimKept), set(2, volume)}, keep{until: endOf(2027, 1, 31), reason: "audit"}},
		"of the claim, known later":     {[]event{set(2, volume), set(3, claimKept)}, keep{until: endOf(2027, 1, 31), reason: "audit"}},
		"of the claim, annotated later": {[]event{set(1, claim), set(2, volume), set(5, claimKept)}, keep{until: endOf(2027, 1, 31), reason: "audit"}},
		"of the volume":                 {[]event{set(1, claim), set(2, volume), set(5, volumeKept)}, keep{until: endOf(2026, 6, 30), reason: "move"}},
		"of both":                       {[]event{set(1, claimKept), set(2, volumeKept)}, keep{until: endOf(2027, 1, 31), reason: "audit"}},
		"no longer":                     {[]event{set(1, claimKept), set(2, volume), set(5, claim)}, keep{}},
		"of a claim that is gone":       {[]event{set(1, claimKept), set(2, volume), gone(7, claimKept), set(8, released)}, keep{}},
		"unreadable":                    {[]event{set(1, claimUnreadable), set(2, volume)}, keep{unreadable: "for ever"}},
		"empty":                         {[]event{set(1, claimEmpty), set(2, volume)}, keep{unreadable: `""`}},
		"long":                          {[]event{set(1, claimLong), set(2, volumeLong)}, keep{endOf(2027, 1, 31), long[:mostLineBytes], long[:mostLineBytes]}},
		"unreadable, and of the volume": {[]event{set(1, claimUnreadable), set(2, volumeKept)}, keep{until: endOf(2026, 6, 30), reason: "move", unreadable: "for ever"}},
	} {
		t.Run(name, func(t *testing.T) {
			inv, h := play(t, test.events...)
			state, row := h.states["v1"], h.rowsOf["v1"]
			expect(t, "state", keep{state.KeepUntil, test.want.reason, state.KeepUnreadable}, test.want)
			expect(t, "row", keep{row.KeepUntil, row.KeepReason, row.KeepUnreadable}, test.want)
			if err := inv.Delete(volume, Live(at(9))); err != nil {
				t.Fatal(err)
			}
			h.take(inv)
			row = h.rowsOf["v1"]
			expect(t, "row, once it is deleted", keep{row.KeepUntil, row.KeepReason, row.KeepUnreadable}, keep{})
		})
	}
}
