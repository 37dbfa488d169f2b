package catalog

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// yamlIndent is how far the fields of a row are from the margin: that of "- ".
const yamlIndent = 2

// writeYAML writes each row as an element of a list. Its values are those of JSON.
func (r *Result) writeYAML(w io.Writer) error {
	empty := true
	for r.Next() {
		row := yaml.Node{Kind: yaml.MappingNode}
		for i, c := range r.Columns {
			var value yaml.Node
			if err := yaml.Unmarshal([]byte(jsonText(r.row[i])), &value); err != nil {
				return fmt.Errorf("write %s as YAML: %w", c.Name, err)
			}
			name := yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: c.Name}
			plainStyle(&name)
			plainStyle(&value)
			row.Content = append(row.Content, &name, value.Content[0])
		}
		var out bytes.Buffer
		encoder := yaml.NewEncoder(&out)
		encoder.SetIndent(yamlIndent)
		if err := encoder.Encode(&yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{&row}}); err != nil {
			return fmt.Errorf("write a row as YAML: %w", err)
		}
		if _, err := w.Write(out.Bytes()); err != nil {
			return err
		}
		empty = false
	}
	if r.Err() != nil || !empty {
		return r.Err()
	}
	_, err := io.WriteString(w, "[]\n")
	return err
}

// plainStyle has values written without the quotes of JSON where YAML needs none. Text that is not safe for a terminal
// keeps them, and so does text that a reader of YAML 1.1 takes for something else, such as yes.
func plainStyle(n *yaml.Node) {
	var alone yaml.Node
	switch {
	case n.Kind != yaml.ScalarNode:
		n.Style = 0
	case n.ShortTag() != "!!str":
	case strings.ContainsFunc(n.Value, dangerous) || alone.Encode(n.Value) != nil:
		n.Style = yaml.DoubleQuotedStyle
	default:
		n.Style = alone.Style
	}
	for _, child := range n.Content {
		plainStyle(child)
	}
}
