package exporter

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"strconv"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers of io.prometheus.client, from client_model's metrics.proto.
const (
	fieldFamilyName   = 1
	fieldFamilyHelp   = 2
	fieldFamilyType   = 3
	fieldFamilyMetric = 4
	fieldMetricLabel  = 1
	fieldMetricGauge  = 2
	fieldLabelName    = 1
	fieldLabelValue   = 2
	fieldGaugeValue   = 1
)

// protoWriter writes families as length-delimited MetricFamily messages, made
// from the same lines as the text. Building a dto.Metric for each volume instead
// would take half a kilobyte a sample; so it is some 150 bytes, for one family
// at a time, in buffers that the families of a scrape share.
type protoWriter struct {
	w                   *bufio.Writer
	body, metric, value []byte
}

func (p *protoWriter) write(f family) error {
	b := p.body[:0]
	b = protowire.AppendTag(b, fieldFamilyName, protowire.BytesType)
	b = protowire.AppendString(b, f.name)
	b = protowire.AppendTag(b, fieldFamilyHelp, protowire.BytesType)
	b = protowire.AppendString(b, f.help)
	b = protowire.AppendTag(b, fieldFamilyType, protowire.VarintType)
	b = protowire.AppendVarint(b, uint64(dto.MetricType_GAUGE))
	header := len(b)
	for line := range f.lines {
		if err := p.readLine(line); err != nil {
			return err
		}
		b = protowire.AppendTag(b, fieldFamilyMetric, protowire.BytesType)
		b = protowire.AppendBytes(b, p.metric)
	}
	p.body = b
	if len(b) == header { // no samples, no family
		return nil
	}
	if _, err := p.w.Write(protowire.AppendVarint(nil, uint64(len(b)))); err != nil {
		return err
	}
	_, err := p.w.Write(b)
	return err
}

// readLine turns a line of ours, `{name="value",…} number`, into a Metric, in
// p.metric.
func (p *protoWriter) readLine(line []byte) error {
	b := p.metric[:0]
	rest := line
	for len(rest) > 0 && rest[0] != '}' {
		var name []byte
		var ok bool
		if name, rest, ok = bytes.Cut(rest[1:], []byte(`="`)); !ok {
			return fmt.Errorf("no label value in line %q", line)
		}
		if p.value, rest, ok = unescape(p.value[:0], rest); !ok {
			return fmt.Errorf("unfinished label value in line %q", line)
		}
		b = protowire.AppendTag(b, fieldMetricLabel, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(protowire.SizeTag(fieldLabelName)+protowire.SizeBytes(len(name))+
			protowire.SizeTag(fieldLabelValue)+protowire.SizeBytes(len(p.value))))
		b = protowire.AppendTag(b, fieldLabelName, protowire.BytesType)
		b = protowire.AppendBytes(b, name)
		b = protowire.AppendTag(b, fieldLabelValue, protowire.BytesType)
		b = protowire.AppendBytes(b, p.value)
	}
	number, err := strconv.ParseFloat(string(bytes.TrimSpace(bytes.TrimPrefix(rest, []byte("}")))), 64)
	if err != nil {
		return fmt.Errorf("no value in line %q: %w", line, err)
	}
	b = protowire.AppendTag(b, fieldMetricGauge, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(protowire.SizeTag(fieldGaugeValue)+protowire.SizeFixed64()))
	b = protowire.AppendTag(b, fieldGaugeValue, protowire.Fixed64Type)
	p.metric = protowire.AppendFixed64(b, math.Float64bits(number))
	return nil
}

// unescape appends the value at the start of s, up to its closing quote, to b,
// and returns what follows the quote.
func unescape(b, s []byte) (value, rest []byte, ok bool) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return b, s[i+1:], true
		case c == '\\' && i+1 < len(s):
			i++
			if s[i] == 'n' {
				b = append(b, '\n')
			} else {
				b = append(b, s[i])
			}
		default:
			b = append(b, c)
		}
	}
	return b, nil, false
}
