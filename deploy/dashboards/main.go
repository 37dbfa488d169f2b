// Command dashboards writes the Grafana dashboards of the project, a file each, into a directory.
//
// A dashboard is a board: its panels as plain Go values, one file for each dashboard. grafana.go converts them into the types
// of Grafana's foundation SDK. Nobody edits the written files: `make dashboards` writes them, and a test compares.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// boards are the dashboards, in the order of dashboards/README.md.
func boards() []board {
	return []board{overview(), idle(), namespaces(), volume(), workload(), backends(), growth(), tracker()}
}

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if len(args) != 1 {
		fmt.Fprintln(os.Stderr, "usage: dashboards DIRECTORY")
		return 2
	}
	for _, b := range boards() {
		text, err := render(b)
		if err == nil {
			err = os.WriteFile(filepath.Join(args[0], b.name+".json"), text, 0o644) //nolint:gosec // a file of the repository
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "dashboards:", err)
			return 1
		}
	}
	return 0
}

// render writes a board as JSON with sorted keys and almost without nulls, so that a diff shows what changed.
func render(b board) ([]byte, error) {
	if err := b.check(); err != nil {
		return nil, err
	}
	text, err := json.Marshal(b.dashboard())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.name, err)
	}
	var plain any
	if err := json.Unmarshal(text, &plain); err != nil {
		return nil, fmt.Errorf("%s: %w", b.name, err)
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(withoutNulls(plain)); err != nil {
		return nil, fmt.Errorf("%s: %w", b.name, err)
	}
	return out.Bytes(), nil
}

// withoutNulls drops the keys that are null, but for the value of a lowest threshold, which the schema demands.
func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if value == nil && key != "value" {
				delete(v, key)
			} else {
				v[key] = withoutNulls(value)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutNulls(v[i])
		}
	}
	return v
}
