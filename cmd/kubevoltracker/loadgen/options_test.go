package loadgen

import (
	"math"
	"strings"
	"testing"
)

func TestARateThatIsNoPositiveNumberIsRefused(t *testing.T) {
	o := options("steady")
	if err := o.validate(); err != nil {
		t.Fatal(err)
	}
	for _, rate := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, -1, maxRate + 1} {
		o.Rate = rate
		if err := o.validate(); err == nil || !strings.Contains(err.Error(), "--rate=") {
			t.Errorf("the rate %g: %v", rate, err)
		}
	}
}
