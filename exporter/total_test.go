package exporter

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// After any additions and subtractions a total is exact, and has all its digits.
func TestTotalIsExact(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	var got total
	want := new(big.Int)
	for range 10_000 {
		n := rnd.Int64() >> rnd.IntN(64)
		switch rnd.IntN(3) {
		case 0:
			got.add(n)
			want.Add(want, big.NewInt(n))
		case 1:
			got.add(-n)
			want.Sub(want, big.NewInt(n))
		default:
			got.subtract(n)
			want.Sub(want, big.NewInt(n))
		}
		if text := string(appendTotal(nil, got)); text != "} "+want.String()+"\n" {
			t.Fatalf("%q, want %s", text, want)
		}
	}
	for _, n := range []int64{0, 1, -1, math.MaxInt64, math.MinInt64} {
		if text := string(appendTotal(nil, totalOf(n))); text != string(appendValue(nil, n)) {
			t.Errorf("%d is %q", n, text)
		}
	}
}

// Two claims of 8Ei are more than 64 bits hold.
func TestNamespaceSumsDoNotOverflow(t *testing.T) {
	e := newTestExporter()
	u := &fact.Update{}
	for _, uid := range []string{"u1", "u2"} {
		v, c := testVolume(), testClaim()
		v.UID, v.Name, v.Status, v.CapacityBytes, v.UsedBytes, v.Measured = uid, uid, fact.VolumeIdle, math.MaxInt64, math.MaxInt64, true
		c.UID, c.RequestedBytes, c.CapacityBytes = uid, math.MaxInt64, math.MaxInt64
		u.Volumes, u.Claims = append(u.Volumes, v), append(u.Claims, c)
	}
	families := []string{"kubevoltracker_namespace_capacity", "kubevoltracker_namespace_idle_b", "kubevoltracker_namespace_req", "kubevoltracker_namespace_used"}
	of := func(bytes string) string {
		return `kubevoltracker_namespace_capacity_bytes{namespace="shop",storageclass="fast"} ` + bytes + `
kubevoltracker_namespace_idle_bytes{namespace="shop",storageclass="fast"} ` + bytes + `
kubevoltracker_namespace_requested_bytes{namespace="shop",storageclass="fast"} ` + bytes + `
kubevoltracker_namespace_used_bytes{namespace="shop",storageclass="fast"} ` + bytes + "\n"
	}
	e.Apply(u)
	wantText(t, gauges(t, e, families...), of("18446744073709551614"))
	e.Apply(&fact.Update{
		Volumes: []fact.VolumeState{{UID: "u1", Gone: true}},
		Claims:  []fact.ClaimState{{UID: "u1", Gone: true}},
	})
	wantText(t, gauges(t, e, families...), of("9223372036854775807"))
}
