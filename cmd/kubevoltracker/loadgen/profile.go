package loadgen

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// lognormal is a distribution of life times. Life times of pods and claims spread over orders of magnitude, with many
// short ones and a few very long ones, which a log-normal distribution describes by two numbers: half of all lives are
// shorter than the median, and two thirds lie within a factor of exp(sigma) of it.
type lognormal struct {
	median time.Duration
	sigma  float64
}

// longest bounds a life, in medians: one life in some thousands is longer, and would outlast any run.
const longest = 20

func (l lognormal) draw(r *rand.Rand) time.Duration {
	return time.Duration(min(longest, math.Exp(l.sigma*r.NormFloat64())) * float64(l.median))
}

// profile says how the objects of a run live. Its times are those of the plan: --rate decides how fast the plan's time
// passes, so that a day may take seconds. Probabilities are from 0 to 1.
type profile struct {
	pod, claim lognormal
	pause      lognormal // between two pods of one place
	sets       bool      // stateful sets instead of pods and claims
	ends       bool      // pods end by themselves
	resize     float64   // a claim grows in its life
	chaos      float64   // something is done in the wrong order
	relabels   int       // how often a pod or a claim gets another owner in its life, on average: operators and backup tools label much
}

var profiles = map[string]profile{
	// Services: a pod lives until the next rollout, mostly within a day, some for weeks. A claim outlives a few of them.
	"steady": {
		pod: lognormal{6 * time.Hour, 1}, claim: lognormal{24 * time.Hour, 1.2}, pause: lognormal{time.Minute, 0.5},
		resize: 0.3, relabels: 2,
	},
	// Jobs: most last minutes, a few last hours (traces of batch clusters have such heavy tails). A claim is the scratch
	// space of a few steps of a pipeline.
	"batch": {
		pod: lognormal{10 * time.Minute, 1.3}, claim: lognormal{40 * time.Minute, 1}, pause: lognormal{2 * time.Minute, 0.8},
		ends: true, relabels: 1,
	},
	// Databases: sets live for days; their pods are restarted one by one, and their number changes some times a day.
	"statefulset": {
		pod: lognormal{4 * time.Hour, 0.8}, claim: lognormal{36 * time.Hour, 0.8}, pause: lognormal{time.Minute, 0.5},
		sets: true, resize: 0.5, relabels: 3,
	},
	// Trouble: short lives that spread widely, and half of all ends in the wrong order or by force.
	"chaos": {
		pod: lognormal{20 * time.Minute, 1.5}, claim: lognormal{40 * time.Minute, 1.5}, pause: lognormal{time.Second, 1},
		resize: 0.3, relabels: 2, chaos: 0.5,
	},
}

// Profiles returns the names of the profiles.
func Profiles() []string { return slices.Sorted(maps.Keys(profiles)) }
