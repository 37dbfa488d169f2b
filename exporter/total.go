package exporter

import (
	"math/big"
	"math/bits"
	"strconv"
)

// total is a sum of bytes that does not overflow: a 128-bit integer in two's complement. The
// API lets a single claim ask for nearly 2^63 bytes (8Ei), so two of them are more than an
// int64 holds. A float64 would drift as claims are added and subtracted, and a copy of a
// big.Int, which a scrape needs, shares its memory with the original.
type total struct{ high, low uint64 }

// totalOf returns n as a total.
func totalOf(n int64) total { return total{uint64(n >> 63), uint64(n)} }

func (t *total) add(n int64) {
	var carry uint64
	t.low, carry = bits.Add64(t.low, uint64(n), 0)
	t.high, _ = bits.Add64(t.high, uint64(n>>63), carry)
}

func (t *total) subtract(n int64) {
	var borrow uint64
	t.low, borrow = bits.Sub64(t.low, uint64(n), 0)
	t.high, _ = bits.Sub64(t.high, uint64(n>>63), borrow)
}

// appendTotal ends a line with a total, all its digits.
func appendTotal(b []byte, t total) []byte {
	b = append(b, '}', ' ')
	if t == totalOf(int64(t.low)) { // it fits into 64 bits, as nearly all do
		b = strconv.AppendInt(b, int64(t.low), 10)
	} else {
		b = t.big().Append(b, 10)
	}
	return append(b, '\n')
}

func (t total) big() *big.Int {
	n := new(big.Int).Lsh(big.NewInt(int64(t.high)), 64)
	return n.Add(n, new(big.Int).SetUint64(t.low))
}
