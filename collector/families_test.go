package collector

import (
	"maps"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// volumesOnly renders volumes.
type volumesOnly struct{}

func (volumesOnly) Kinds() []fact.Kind           { return []fact.Kind{fact.Volumes} }
func (volumesOnly) Render(fact.Kind, any) string { return "" }

// shownFamilies applies updates as the exporter does, and has the texts by UID; nil until a list has come.
func shownFamilies(f *families, shown map[string]string) map[string]string {
	var u fact.Update
	f.take(&u)
	if len(u.Relisted) > 0 {
		shown = map[string]string{}
	}
	for _, r := range u.Rendered {
		if r.Gone {
			delete(shown, r.UID)
		} else if shown != nil {
			shown[r.UID] = r.Text
		}
	}
	return shown
}

func changed(uid, text string) fact.Rendered {
	return fact.Rendered{Kind: fact.Volumes, UID: uid, Text: text}
}
func gone(uid string) fact.Rendered { return fact.Rendered{Kind: fact.Volumes, UID: uid, Gone: true} }

// After a resume, the list and the replayed events come in any order, and must end in the same texts. The events are
// those of versions 11 to 16; the list has version 14.
func TestFamiliesAfterAResumeAreThoseOfTheLatestVersions(t *testing.T) {
	events := []struct {
		rendered fact.Rendered
		version  uint64
	}{
		{changed("brief", "11"), 11}, // deleted before the list
		{changed("kept", "12"), 12},
		{gone("brief"), 13},
		{changed("kept", "14"), 14},
		{gone("late"), 15}, // in the list, and deleted after it
		{changed("new", "16"), 16},
	}
	want := map[string]string{"same": "5", "kept": "14", "new": "16"}
	for at := range len(events) + 1 { // how many events come before the list
		f := newFamilies(volumesOnly{})
		f.await(fact.Volumes)
		var shown map[string]string
		for i := range len(events) + 1 {
			if i == at {
				if shown = shownFamilies(&f, shown); shown != nil {
					t.Errorf("list after %d events: shown before it came: %v", at, shown)
				}
				f.list(fact.Volumes, map[string]string{"same": "5", "kept": "14", "late": "6"}, 14)
			}
			if i < len(events) {
				f.change(events[i].rendered, events[i].version)
				shown = shownFamilies(&f, shown)
			}
			if shown["brief"] != "" || (shown != nil && i < 5 && shown["kept"] != "14") {
				t.Errorf("list after %d events, %d taken: %v", at, i+1, shown)
			}
		}
		if shown = shownFamilies(&f, shown); !maps.Equal(shown, want) {
			t.Errorf("list after %d events: %v, want %v", at, shown, want)
		}
	}
}

func TestAKindThatMayNotBeListedHasNoFamiliesUntilItMay(t *testing.T) {
	f := newFamilies(volumesOnly{})
	f.await(fact.Volumes)
	f.change(changed("a", "11"), 11)
	f.unlisted(fact.Volumes)
	shown := shownFamilies(&f, nil)
	if shown == nil || len(shown) > 0 {
		t.Errorf("shown are %v, want none", shown)
	}
	f.list(fact.Volumes, map[string]string{"b": "9"}, 10)
	f.unlisted(fact.Volumes) // it was listed: what is known stays
	if shown = shownFamilies(&f, shown); !maps.Equal(shown, map[string]string{"a": "11", "b": "9"}) {
		t.Errorf("shown are %v", shown)
	}
}

func TestOtherKindsHaveNoFamilies(t *testing.T) {
	f := newFamilies(volumesOnly{})
	r := changed("a", "1")
	r.Kind = fact.Pods
	f.change(r, 1)
	f.list(fact.Pods, map[string]string{"a": "1"}, 1)
	f.unlisted(fact.Pods)
	f.await(fact.Pods)
	var u fact.Update
	if f.take(&u); !u.Empty() {
		t.Errorf("the update has %v %v", u.Rendered, u.Relisted)
	}
}
