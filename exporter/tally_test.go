package exporter

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// allRecords returns all that has changed, encoded as the recorder does; nil if nothing has.
func allRecords(tally *Tally) (map[string][]byte, error) {
	records, err := tally.Records()
	integrals := map[string]any{}
	tally.Integrals(integrals)
	for name, value := range integrals {
		if records == nil {
			records = map[string][]byte{}
		}
		if records[name] = nil; value != nil {
			var failed error
			records[name], failed = json.Marshal(value)
			err = errors.Join(err, failed)
		}
	}
	return records, err
}

func mustRecords(t *testing.T, tally *Tally) map[string][]byte {
	t.Helper()
	records, err := allRecords(tally)
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// openMetricsSeconds is a moment as expfmt writes it in a _created line.
func openMetricsSeconds(t fact.Time) string { return fmt.Sprintf("%.9e", t.Seconds()) }

func facts(namespaces []fact.Namespace, changes ...fact.Change) *fact.Facts {
	return &fact.Facts{Namespaces: namespaces, Changes: changes}
}

// everyChange counts in each counter.
func everyChange() []fact.Change {
	mounted, unmounted := fact.Change{Kind: "Pod", Namespace: "shop", Action: fact.Mounted}, fact.Change{Kind: "Pod", Namespace: "shop", Action: fact.Unmounted}
	found := claimChange(fact.Created)
	found.Found = true
	return []fact.Change{
		volumeChange(fact.Created), volumeChange(fact.Deleted), claimChange(fact.Created), claimChange(fact.Bound),
		claimChange(fact.Resized), claimChange(fact.Deleted), mounted, mounted, unmounted, claimChange(fact.Disputed), found,
	}
}

func TestCountersGoOnFromWhatWasKept(t *testing.T) {
	kept := NewTally(ago(time.Hour).Time)
	kept.Add(facts(nil, everyChange()...))
	restored := NewTally(testNow.Time)
	if err := restored.Restore(mustRecords(t, kept)); err != nil {
		t.Fatal(err)
	}
	e := newTestExporter()
	e.Restore(restored, func() bool { return true })
	e.Apply(changesUpdate(everyChange()...)) // what came while the tracker was away
	wantText(t, samples(t, e, append(counterPrefixes, "kubevoltracker_unused")...), `
kubevoltracker_claims_bound_total{namespace="shop",storageclass="fast"} 2
kubevoltracker_claims_created_total{namespace="shop",storageclass="fast"} 2
kubevoltracker_claims_deleted_total{namespace="shop",storageclass="fast"} 2
kubevoltracker_claims_resized_total{namespace="shop",storageclass="fast"} 2
kubevoltracker_mounts_ended_total{namespace="shop"} 2
kubevoltracker_mounts_started_total{namespace="shop"} 4
kubevoltracker_unused_disagreements_total 2
kubevoltracker_volumes_created_total{source="nfs",storageclass="fast"} 2
kubevoltracker_volumes_deleted_total{source="nfs",storageclass="fast"} 2
`)
	// A Prometheus that takes a zero at the creation of a counter must not take one now.
	created := "kubevoltracker_claims_created_created{namespace=\"shop\",storageclass=\"fast\"} " + openMetricsSeconds(ago(time.Hour))
	if body := get(e.Handler(), acceptOpenMetrics).Body.String(); !strings.Contains(body, created) {
		t.Errorf("no line %s", created)
	}
}

func TestCountersAreLeftOutUntilTheGapIsCaughtUpWith(t *testing.T) {
	kept := NewTally(testNow.Time)
	kept.Add(facts(nil, claimChange(fact.Created)))
	caughtUp := false
	e := newTestExporter()
	e.Apply(claimsUpdate(testClaim()))
	e.Restore(kept, func() bool { return caughtUp })
	if got := samples(t, e, counterPrefixes...); got != "" {
		t.Errorf("there are\n%s", got)
	}
	if got := samples(t, e, "kubevoltracker_namespace_bound_volumes"); got == "" {
		t.Error("the present state is left out too")
	}
	e.Apply(changesUpdate(claimChange(fact.Created)))
	caughtUp = true
	if got := samples(t, e, "kubevoltracker_claims_created"); !strings.HasSuffix(got, "} 2\n") {
		t.Errorf("got %s", got)
	}
	caughtUp = false // a watch that breaks later is no reason
	if got := samples(t, e, "kubevoltracker_claims_created"); got == "" {
		t.Error("left out again")
	}
}

func TestOnlyWhatChangedIsKeptAnew(t *testing.T) {
	tally := NewTally(testNow.Time)
	tally.Add(facts(nil, everyChange()...))
	if got := slices.Sorted(maps.Keys(mustRecords(t, tally))); !slices.Equal(got, []string{"/", "shop"}) {
		t.Errorf("first %v", got)
	}
	if got := mustRecords(t, tally); got != nil {
		t.Errorf("then %v", got)
	}
	other := claimChange(fact.Created)
	other.Namespace = "lab"
	tally.Add(facts(nil, other))
	records := mustRecords(t, tally)
	want := fmt.Sprintf(`{"Counts":{"claims_created_total":{"fast":[1,%d]}}}`, testNow)
	if got := string(records["lab"]); len(records) != 1 || got != want {
		t.Errorf("got %s, want %s", records, want)
	}
}

func TestCountsOfADeletedNamespaceAreForgottenLater(t *testing.T) {
	in := func(namespace string, action fact.Action) fact.Change {
		c := claimChange(action)
		c.Namespace = namespace
		return c
	}
	deleted := func(name string, at fact.Time) []fact.Namespace {
		return []fact.Namespace{{Name: name, DeletedAt: at}}
	}
	tally := NewTally(testNow.Time)
	tally.Add(facts(nil, in("a", fact.Created), in("b", fact.Created), in("c", fact.Created), in("d", fact.Created)))
	tally.Add(facts(deleted("a", ago(3*time.Hour)), in("a", fact.Deleted)))
	tally.Add(facts(deleted("b", ago(150*time.Minute))))
	tally.Add(facts([]fact.Namespace{{Name: "b"}})) // made again
	first := mustRecords(t, tally)
	tally.Add(facts(deleted("unknown", ago(90*time.Minute))))
	tally.Add(facts(deleted("c", ago(90*time.Minute))))
	second := mustRecords(t, tally)
	if data, ok := second["a"]; !ok || data != nil || tally.parts["b"] == nil || tally.parts["c"] == nil {
		t.Errorf("a is %q, and left are %v", data, tally.parts)
	}

	maps.Copy(first, second)
	maps.DeleteFunc(first, func(_ string, data []byte) bool { return data == nil })
	again := NewTally(testNow.Time)
	if err := again.Restore(first); err != nil {
		t.Fatal(err)
	}
	if left := slices.Sorted(maps.Keys(again.parts)); !slices.Equal(left, []string{"b", "d"}) {
		t.Errorf("after a restart: %v", left)
	}
	if data, ok := mustRecords(t, again)["c"]; !ok || data != nil {
		t.Error("c is kept in the journal")
	}
}

func TestRecordsOfAnotherVersionAreNoHarm(t *testing.T) {
	tally := NewTally(testNow.Time)
	err := tally.Restore(map[string][]byte{
		"shop":   []byte(`{"Counts":{"claims_created_total":{"fast":[3,5],"fast/new":[1,1]},"claims_stolen_total":{"fast":[9,9]}},"More":1}`),
		"/":      []byte(`{"Counts":{"volumes_created_total":{"/csi":[4,5],"":[1,1]},"unused_disagreements_total":{"":[2,5]}}}`),
		"broken": []byte(`{`),
	})
	if err == nil || !strings.Contains(err.Error(), "broken") {
		t.Error(err)
	}
	e := newTestExporter()
	e.Restore(tally, func() bool { return true })
	wantText(t, samples(t, e, "kubevoltracker_claims_created", "kubevoltracker_volumes_created", "kubevoltracker_unused"), `
kubevoltracker_claims_created_total{namespace="shop",storageclass="fast"} 3
kubevoltracker_unused_disagreements_total 2
kubevoltracker_volumes_created_total{source="csi",storageclass=""} 4
`)
}
