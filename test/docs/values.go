package docs

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Chart is what may be set in the Helm chart, and the defaults.
type Chart struct {
	values map[string]any
	schema schema
}

// schema is the part of a JSON schema that says which values there are.
type schema struct {
	Type       any               `json:"type"` // a name, or a list of names
	Properties map[string]schema `json:"properties"`
	Others     any               `json:"additionalProperties"` // false if there are only these properties
}

// ReadChart reads the values and the schema of a chart.
func ReadChart(directory string) (*Chart, error) {
	c := &Chart{}
	for name, to := range map[string]any{"values.yaml": &c.values, "values.schema.json": &c.schema} {
		text, err := os.ReadFile(directory + "/" + name)
		if err == nil {
			err = yaml.Unmarshal(text, to) // JSON is YAML
		}
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

var (
	valuePath    = regexp.MustCompile(`^[a-z]\w*(\.[a-z]\w*)+(=\S+)?$`)
	valueMapping = regexp.MustCompile(`^[a-z]\w*: \S`)
)

// WrongValues returns a finding for each value of the chart on the page that does not exist or has another type, and
// for each wrong default in tables of values. A value is
//   - code such as `image.tag`, `kubelet.enabled=false` or `replicas: 2` whose first part is a value of the chart;
//   - a block of YAML that is no manifest and sets values of the chart;
//   - an argument of --set in a command line of helm.
//
// n is how many there are.
func (p *Page) WrongValues(c *Chart) (findings []string, n int) {
	check := func(line int, values map[string]any) {
		n++
		for _, finding := range c.schema.wrong("", values) {
			findings = append(findings, fmt.Sprintf("%s:%d: %s", p.Name, line, finding))
		}
	}
	for _, span := range p.Spans {
		if values := c.ofSpan(span.Text); values != nil {
			check(span.Line, values)
		}
	}
	for _, block := range p.Blocks {
		if values := c.ofBlock(block); values != nil {
			check(block.Line, values)
		}
	}
	commands, _ := p.Commands()
	for _, command := range Of(commands, "helm") {
		for i, arg := range command.Args[:len(command.Args)-1] {
			if arg == "--set" {
				check(command.Line, nested(command.Args[i+1]))
			}
		}
	}
	for _, t := range p.Tables {
		found, compared := c.wrongDefaults(t)
		findings, n = append(findings, found...), n+compared
	}
	return findings, n
}

// ofSpan returns the values that code in a sentence names, or nil if it names none.
func (c *Chart) ofSpan(text string) map[string]any {
	first, rest, _ := strings.Cut(text, ".")
	_, isTop := c.values[first].(map[string]any)
	if valuePath.MatchString(text) && isTop && rest != "md" && rest != "go" {
		return nested(text)
	}
	if valueMapping.MatchString(text) {
		return c.parse(text)
	}
	return nil
}

// ofBlock returns the values that a block sets, or nil if it is another one.
func (c *Chart) ofBlock(block Piece) map[string]any {
	if block.Lang != "yaml" {
		return nil
	}
	return c.parse(block.Text)
}

// parse reads YAML with at least one value of the chart at its top.
func (c *Chart) parse(text string) map[string]any {
	var values map[string]any
	if yaml.Unmarshal([]byte(text), &values) != nil || values["apiVersion"] != nil {
		return nil
	}
	for key := range values {
		if _, ok := c.values[key]; ok {
			return values
		}
	}
	return nil
}

// nested returns a.b.c=x as {a: {b: {c: x}}}. Without =x, the value is unset, which has every type.
func nested(text string) map[string]any {
	path, given, hasValue := strings.Cut(text, "=")
	var value any = unset{}
	if hasValue {
		_ = yaml.Unmarshal([]byte(given), &value) // what is no YAML stays unset
	}
	keys := strings.Split(path, ".")
	for i := len(keys) - 1; i > 0; i-- {
		value = map[string]any{keys[i]: value}
	}
	return map[string]any{keys[0]: value}
}

// unset is a value that is named and not set.
type unset struct{}

// wrong returns a finding for each value below a path that the schema lacks, or that has another type.
func (s schema) wrong(path string, values map[string]any) (findings []string) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		name := strings.TrimPrefix(path+"."+key, ".")
		of, exists := s.Properties[key]
		if !exists {
			if s.Others == false || len(s.Properties) > 0 {
				findings = append(findings, fmt.Sprintf("the chart has no value %s", name))
			}
			continue
		}
		if !of.allows(values[key]) {
			findings = append(findings, fmt.Sprintf("the value %s is not of type %v", name, of.Type))
		}
		if below, ok := values[key].(map[string]any); ok {
			findings = append(findings, of.wrong(name, below)...)
		}
	}
	return findings
}

// allows reports whether a value has a type of the schema.
func (s schema) allows(value any) bool {
	if value == (unset{}) || s.Type == nil {
		return true
	}
	types, isList := s.Type.([]any)
	if !isList {
		types = []any{s.Type}
	}
	names := []any{"null"}
	switch value := value.(type) {
	case bool:
		names = []any{"boolean"}
	case float64:
		names = []any{"number"}
		if value == float64(int64(value)) {
			names = append(names, "integer")
		}
	case string:
		names = []any{"string"}
	case []any:
		names = []any{"array"}
	case map[string]any:
		names = []any{"object"}
	}
	return slices.ContainsFunc(names, func(name any) bool { return slices.Contains(types, name) })
}

// wrongDefaults compares a table with the chart if its first columns are "value" and "default". A value without a
// default is a group of those that follow.
func (c *Chart) wrongDefaults(t Table) (findings []string, n int) {
	if !t.has("value", "default") {
		return nil, 0
	}
	for _, row := range t.Rows {
		var want any
		if err := yaml.Unmarshal([]byte(row.Cells[1]), &want); err != nil || row.Cells[1] == "" || len(row.Names) == 0 {
			continue
		}
		n++
		if is := c.valueAt(row.Names[0]); !reflect.DeepEqual(is, want) {
			text, _ := json.Marshal(is)
			findings = append(findings, fmt.Sprintf("%s:%d: the default of %s is %s", t.Page, row.Line, row.Names[0], text))
		}
	}
	return findings, n
}

// valueAt returns the default at a path, or nil.
func (c *Chart) valueAt(path string) any {
	var value any = c.values
	for key := range strings.SplitSeq(path, ".") {
		below, _ := value.(map[string]any)
		value = below[key]
	}
	return value
}
