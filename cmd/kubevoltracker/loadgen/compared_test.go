package loadgen

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestDocsSayWhatIsCompared compares the table in docs/loadgen.md with the columns of an account that has a row of each
// table.
func TestDocsSayWhatIsCompared(t *testing.T) {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	line := func(kind, name, uid, version string) Line {
		return Line{At: at, Action: Observed, Kind: kind, Name: name, UID: uid, ResourceVersion: version, Created: &at}
	}
	volume, claim, pod := line(VolumeKind, "lg-r-v", "v", "1"), line(ClaimKind, "lg-r-c", "c", "2"), line(PodKind, "lg-r-p", "p", "3")
	volume.Volume = &VolumeState{Phase: "Bound", PhaseChanged: &at, ClaimUID: "c"}
	claim.Claim = &ClaimState{Phase: "Bound", Volume: "lg-r-v"}
	pod.Pod = &PodState{Containers: []ContainerState{{Name: "main", Started: &at}}, Mounts: []MountState{{Container: "main", Volume: "data", Path: "/data", Claim: "lg-r-c"}}}
	truth, err := newTruth([]Line{{Action: Began, Plan: &PlanLine{Run: "r"}}, volume, claim, pod})
	if err != nil {
		t.Fatal(err)
	}
	docs, err := os.ReadFile("../../../docs/loadgen.md")
	if err != nil {
		t.Fatal(err)
	}
	word := regexp.MustCompile("`([a-z_]+)`")
	for _, table := range tables {
		_, rest, found := strings.Cut(string(docs), "\n| `"+table.name+"` |")
		said, _, _ := strings.Cut(rest, "\n")
		if !found {
			t.Errorf("docs/loadgen.md does not say what is compared of %s", table.name)
		}
		var columns []string
		for _, match := range word.FindAllStringSubmatch(said, -1) {
			columns = append(columns, match[1])
		}
		slices.Sort(columns)
		if len(truth.rows[table.name]) != 1 {
			t.Fatalf("%d rows of %s", len(truth.rows[table.name]), table.name)
		}
		for _, row := range truth.rows[table.name] {
			if compared := slices.Sorted(maps.Keys(row)); !slices.Equal(columns, compared) {
				t.Errorf("docs/loadgen.md says %v of %s; compared are %v", columns, table.name, compared)
			}
		}
	}
}
