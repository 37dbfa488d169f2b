// Command vulncheck reads what `govulncheck -format json` found, and fails if the code calls a vulnerable function
// that exceptions.txt does not excuse. Govulncheck has no list of exceptions of its own.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err == nil {
		err = check(os.Stdin, string(text))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "vulncheck:", err)
		os.Exit(1)
	}
}

// message is the part of govulncheck's output that counts: where a finding's trace begins in a function, that is called.
type message struct {
	Config  *struct{}
	Finding *struct {
		OSV          string
		FixedVersion string `json:"fixed_version"`
		Trace        []struct{ Module, Version, Function string }
	}
}

// check returns an error that names each vulnerability that is called and has no exception, and each exception that
// nothing needs. An exception is a line: the ID, and the reason.
func check(found io.Reader, exceptions string) error {
	excused, bad := parse(exceptions)
	used, ran := map[string]bool{}, false
	for d := json.NewDecoder(found); ; {
		var m message
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("govulncheck's output cannot be read: %w", err)
		}
		ran = ran || m.Config != nil
		if f := m.Finding; f != nil && len(f.Trace) > 0 && f.Trace[0].Function != "" {
			used[f.OSV] = true
			if at := f.Trace[0]; !excused[f.OSV] {
				bad = append(bad, fmt.Sprintf("%s: %s of %s %s is called (fixed in %q)", f.OSV, at.Function, at.Module, at.Version, f.FixedVersion))
			}
		}
	}
	for id := range excused {
		if !used[id] {
			bad = append(bad, "the exception "+id+" is not needed any more")
		}
	}
	if slices.Sort(bad); len(bad) > 0 {
		return errors.New(strings.Join(slices.Compact(bad), "\n"))
	}
	if !ran {
		return errors.New("govulncheck has found nothing because it has not run")
	}
	return nil
}

// parse reads the exceptions, and finds those without a reason.
func parse(exceptions string) (excused map[string]bool, bad []string) {
	excused = map[string]bool{}
	for line := range strings.Lines(exceptions) {
		id, reason, _ := strings.Cut(strings.TrimSpace(line), " ")
		if id == "" || strings.HasPrefix(id, "#") {
			continue
		}
		if excused[id] = true; strings.TrimSpace(reason) == "" {
			bad = append(bad, "the exception "+id+" has no reason")
		}
	}
	return excused, bad
}
