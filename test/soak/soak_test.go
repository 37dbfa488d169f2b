package soak

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"
)

// soakSeed returns the seed of all that is random, and prints it, so that a failure can be planned again. SOAK_SEED
// sets it.
func soakSeed(t testing.TB) uint64 {
	seed := uint64(time.Now().UnixNano()) % 100000
	if text := os.Getenv("SOAK_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("SOAK_SEED: %v", err)
		}
		seed = n
	}
	t.Logf("SOAK_SEED=%d", seed)
	return seed
}

// TestNothingIsLostInTrouble inflicts each trouble on trackers of its own for 15 seconds, and then shakes the
// cluster. In the end each catalog has to say what the audit log does, and each tracker has to know the state and
// the last use of each volume.
func TestNothingIsLostInTrouble(t *testing.T) {
	chosen := chosenTroubles(t)
	b := newBattlefield(t, "trouble-", 6, 300*time.Millisecond, chosen)
	b.inflict(chosen, 15*time.Second)
	b.shakeTheCluster()
	time.Sleep(2 * time.Second)
	b.verdict()
}

// TestSoak does that in rounds for SOAK_MINUTES.
func TestSoak(t *testing.T) {
	minutes, err := strconv.ParseFloat(os.Getenv("SOAK_MINUTES"), 64)
	if err != nil {
		t.Skip("it takes minutes: `make soak`, for SOAK_MINUTES")
	}
	chosen := chosenTroubles(t)
	b := newBattlefield(t, "soak-", 6, 500*time.Millisecond, chosen)
	b.freeze = time.Minute
	whole := time.Duration(minutes * float64(time.Minute))
	end := time.Now().Add(whole)
	go func() {
		for range time.Tick(time.Minute) {
			fmt.Printf("soak: %s left, %d things done, %d starts of trackers\n", time.Until(end).Round(time.Second), b.churn.done.Load(), launched.Load())
		}
	}()
	// The first round is long enough for ClickHouse to be gone for a fifth of the time.
	b.outage = whole / 5
	for round := whole / 4; time.Now().Before(end) && !t.Failed(); round = 40 * time.Second {
		b.inflict(chosen, min(round, time.Until(end)))
		b.outage, b.stall = 0, 6*time.Second
		b.shakeTheCluster()
	}
	b.verdict()
}
