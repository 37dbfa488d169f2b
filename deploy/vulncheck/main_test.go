package main

import (
	"strings"
	"testing"
)

const (
	started  = `{"config":{"scanner_name":"govulncheck"}}`
	called   = `{"finding":{"osv":"GO-1","fixed_version":"v2","trace":[{"module":"m","version":"v1","package":"m/p","function":"F"}]}}`
	imported = `{"finding":{"osv":"GO-1","trace":[{"module":"m","version":"v1","package":"m/p"}]}}`
)

func TestACalledVulnerabilityFails(t *testing.T) {
	for name, test := range map[string]struct{ found, exceptions, want string }{
		"nothing found":               {started, "# a comment\n", ""},
		"called":                      {started + called, "", "GO-1: F of m v1 is called"},
		"imported, and not called":    {started + imported, "", ""},
		"excused":                     {started + called, "GO-1 we pass it constants\n", ""},
		"excused without a reason":    {started + called, "GO-1\n", "has no reason"},
		"an exception that is old":    {started, "GO-1 we pass it constants\n", "not needed any more"},
		"another one is excused":      {started + called, "GO-2 we pass it constants\n", "GO-1: F"},
		"a scan that did not run":     {"", "", "has not run"},
		"a scan that was interrupted": {started + `{"finding":`, "", "cannot be read"},
		"what is no scan's output":    {"no such host", "", "cannot be read"},
	} {
		err := check(strings.NewReader(test.found), test.exceptions)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
