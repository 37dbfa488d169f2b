package exporter

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// integral is the integral over time of a number of bytes that changes. Its value at the moment t is base + rate * t,
// so that a change costs two additions, and a moment without a change costs nothing.
//
// The sums are exact: integers of 128 bits, of bytes and of bytes times microseconds since 1970. They may overflow on
// the way, but not in the value, as integers modulo 2^128 subtract exactly, and a value below 2^127 is right: that is
// 1.7e32 byte-seconds, those of 8 EiB for half a million years. Only a scrape rounds, to the 53 bits of a float64. One
// PB for ten years is 3e23 byte-seconds, of which the last bit is 3e7; in five minutes 3e17 are added, so that rate()
// is off by one in 10 billion at most.
type integral struct{ base, rate total }

// change adds to the number of bytes from a moment on.
func (n *integral) change(bytes int64, from fact.Time) {
	n.rate.add(bytes)
	n.base = n.base.minus(totalOf(bytes).times(from))
}

// at returns the value at a moment.
func (n *integral) at(t fact.Time) total { return n.base.plus(n.rate.times(t)) }

func (t total) plus(o total) total {
	low, carry := bits.Add64(t.low, o.low, 0)
	high, _ := bits.Add64(t.high, o.high, carry)
	return total{high, low}
}

func (t total) minus(o total) total {
	low, borrow := bits.Sub64(t.low, o.low, 0)
	high, _ := bits.Sub64(t.high, o.high, borrow)
	return total{high, low}
}

// times multiplies modulo 2^128, where the product of two's complements is that of the numbers.
func (t total) times(at fact.Time) total {
	o := totalOf(int64(at))
	high, low := bits.Mul64(t.low, o.low)
	return total{high + t.high*o.low + t.low*o.high, low}
}

func (t total) less(o total) bool {
	if t.high != o.high {
		return int64(t.high) < int64(o.high) //nolint:gosec // two's complement
	}
	return t.low < o.low
}

// seconds returns a value in byte-microseconds as byte-seconds.
func (t total) seconds() float64 {
	return (math.Ldexp(float64(int64(t.high)), 64) + float64(t.low)) / 1e6 //nolint:gosec // two's complement
}

// digits and totalFrom write and read a total in decimal notation.
func (t total) digits() string { return t.big().String() }

func totalFrom(digits string) (t total, ok bool) {
	n, ok := new(big.Int).SetString(digits, 10)
	if !ok || n.BitLen() > 127 {
		return total{}, false
	}
	n.And(n, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(1)))
	return total{new(big.Int).Rsh(n, 64).Uint64(), new(big.Int).And(n, new(big.Int).SetUint64(math.MaxUint64)).Uint64()}, true
}
