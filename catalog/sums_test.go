package catalog_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// TestSumsOfSpaceDoNotOverflow: two claims of 8Ei do not fit into 64 bits.
func TestSumsOfSpaceDoNotOverflow(t *testing.T) {
	c := migrated(t)
	facts := &fact.Facts{}
	for i := range 4 {
		uid := fmt.Sprint(i)
		facts.Volumes = append(facts.Volumes, fact.Volume{Version: 1, UID: uid, Name: uid, ClaimUID: uid, ClaimNamespace: fmt.Sprint("ns-", i/2), ClaimName: uid, Phase: "Bound", CapacityBytes: math.MaxInt64, CreatedAt: day(1, 1)})
		facts.Claims = append(facts.Claims, fact.Claim{Version: 1, UID: uid, Namespace: fmt.Sprint("ns-", i/2), Name: uid, VolumeUID: uid, RequestedBytes: math.MaxInt64, Phase: "Bound", CreatedAt: day(1, 1)})
		facts.Usage = append(facts.Usage, fact.Usage{At: day(1, 5), Namespace: fmt.Sprint("ns-", i/2), VolumeUID: uid, Space: fact.Space{UsedBytes: math.MaxInt64}})
	}
	write(t, c, "east", facts)
	golden(t, "space_huge.txt", report(t, c, "space", catalog.CSVFormat)+report(t, c, "space", catalog.JSONFormat)+report(t, c, "space", catalog.TableFormat))
}
