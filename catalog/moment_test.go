package catalog_test

import (
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog"
)

func TestMoments(t *testing.T) {
	now := time.Date(2026, 11, 23, 2, 3, 4, 0, time.UTC)
	for text, want := range map[string]string{
		"30d":                       "2026-10-24T02:03:04Z",
		"1d12h":                     "2026-11-21T14:03:04Z",
		"0s":                        "2026-11-23T02:03:04Z",
		"2026-11-20":                "2026-11-20T00:00:00Z",
		"2026-11-20 15:04":          "2026-11-20T15:04:00Z",
		"2026-11-20 15:04:05":       "2026-11-20T15:04:05Z",
		"2026-11-20T15:04":          "2026-11-20T15:04:00Z",
		"2026-11-20T15:04:05Z":      "2026-11-20T15:04:05Z",
		"2026-11-20T15:04:05.5Z":    "2026-11-20T15:04:05.5Z",
		"2026-11-20T15:04:05+02:00": "2026-11-20T13:04:05Z",
	} {
		got, err := catalog.ParseMoment(text, now)
		if err != nil || got.Format(time.RFC3339Nano) != want {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "now", "-1d", "2026-13-01", "2026", "15:04", "2026-11-20 15"} {
		if got, err := catalog.ParseMoment(text, now); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestTheNearestNameIsFound(t *testing.T) {
	names := []string{"mounts", "users", "idle", "space", "app-changes"}
	for name, want := range map[string]string{
		"mount": "mounts", "suers": "users", "ilde": "idle", "IDLE": "", "spcae": "space", "appchanges": "app-changes", "pods": "", "": "", "u": "",
	} {
		if got, _ := catalog.Nearest(name, names); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
