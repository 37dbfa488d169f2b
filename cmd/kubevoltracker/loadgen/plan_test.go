package loadgen

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// options of a small run.
func options(profile string) Options {
	return Options{Volumes: 6, Claims: 12, Pods: 15, Duration: time.Minute, Rate: 100, Seed: 7, Kinds: Kinds(), Profile: profile}
}

// steps returns the first steps of a plan.
func steps(o Options, n int) (list []Step) {
	p := newPlan(planned{Options: o, dynamic: true, expands: true})
	for range n {
		list = append(list, p.next())
	}
	return list
}

func TestSeedDecidesThePlan(t *testing.T) {
	for _, profile := range Profiles() {
		o := options(profile)
		first := steps(o, 3000)
		if !reflect.DeepEqual(first, steps(o, 3000)) {
			t.Errorf("%s: two plans of one seed differ", profile)
		}
		o.Seed++
		if reflect.DeepEqual(first, steps(o, 3000)) {
			t.Errorf("%s: plans of two seeds are equal", profile)
		}
	}
}

// TestPlanIsInOrder follows the names of a plan: its time never goes back, and a name is made again only after it was
// deleted.
func TestPlanIsInOrder(t *testing.T) {
	for _, profile := range Profiles() {
		there, again := map[string]bool{}, 0
		var at time.Duration
		for _, s := range steps(options(profile), 5000) {
			if s.At < at {
				t.Fatalf("%s: %+v comes after %s", profile, s, at)
			}
			at = s.At
			name := s.Kind + " " + s.Name
			before, known := there[name]
			switch s.Action {
			case Create:
				if before {
					t.Fatalf("%s: %s is created twice", profile, name)
				}
				if known {
					again++
				}
				there[name] = true
			case Delete:
				if _, claim := strings.CutPrefix(s.Name, templatePrefix); !claim && s.Kind != PodKind { // of sets: their controller makes pods and claims
					if !before {
						t.Fatalf("%s: %s is deleted and was not created", profile, name)
					}
				}
				there[name] = false
			}
		}
		if again == 0 {
			t.Errorf("%s: no name is used again", profile)
		}
	}
}

// TestPlanHasWhatTheProfileSays counts the actions and kinds of each profile.
func TestPlanHasWhatTheProfileSays(t *testing.T) {
	for profile, wanted := range map[string][]string{
		"steady":      {"create PersistentVolume", "create Pod", "delete PersistentVolumeClaim", "resize PersistentVolumeClaim", "release PersistentVolume", "reclaim PersistentVolume", "relabel Pod"},
		"batch":       {"create Job", "create Pod", "delete PersistentVolumeClaim"},
		"statefulset": {"create StatefulSet", "scale StatefulSet", "delete Pod", "resize PersistentVolumeClaim", "delete PersistentVolumeClaim"},
		"chaos":       {"delete Pod by force", "reclaim PersistentVolume", "delete PersistentVolumeClaim"},
	} {
		seen, sources := map[string]bool{}, map[string]bool{}
		for _, s := range steps(options(profile), 5000) {
			seen[s.Action+" "+s.Kind] = true
			if s.Force {
				seen[s.Action+" "+s.Kind+" by force"] = true
			}
			if s.Scratch {
				sources[Ephemeral] = true
			}
			sources[s.Source] = true
		}
		for _, w := range wanted {
			if !seen[w] {
				t.Errorf("%s: the plan never has %q", profile, w)
			}
		}
		for _, kind := range options(profile).Kinds {
			if !sources[kind] && profile != "statefulset" {
				t.Errorf("%s: no volume of kind %s", profile, kind)
			}
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, c := range []struct {
		mention string
		change  func(*Options)
	}{
		{"--rate", func(o *Options) { o.Rate = 0 }},
		{"--duration", func(o *Options) { o.Duration = 0 }},
		{"--pods", func(o *Options) { o.Pods = -1 }},
		{"nothing to make", func(o *Options) { o.Volumes, o.Claims, o.Pods = 0, 0, 0 }},
		{"--kinds", func(o *Options) { o.Kinds = nil }},
		{"smb", func(o *Options) { o.Kinds = []string{"nfs", "smb"} }},
		{"--volumes=6", func(o *Options) { o.Kinds = []string{Ephemeral} }},
		{"--profile", func(o *Options) { o.Profile = "calm" }},
	} {
		o := options("steady")
		c.change(&o)
		if err := o.validate(); err == nil || !strings.Contains(err.Error(), c.mention) {
			t.Errorf("want a mistake about %s, got %v", c.mention, err)
		}
	}
	o := options("steady")
	if err := o.validate(); err != nil {
		t.Error(err)
	}
}
