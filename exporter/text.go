package exporter

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// maxLabelValue is the length in bytes at which a label value is cut off. Names in Kubernetes have
// 253 bytes at most; an owner comes from an annotation, which may have 256 KiB. The limit also
// bounds a row's text, so that its cuts fit into 16 bits.
const maxLabelValue = 1024

// appendLabel appends name="value", with the value escaped as the text format
// and OpenMetrics both want it. expfmt escapes, too, but only whole families, which
// take half a kilobyte a sample.
func appendLabel(b []byte, name, value string) []byte {
	b = append(b, name...)
	b = append(b, '=', '"')
	b = appendEscaped(b, cleanLabelValue(value))
	return append(b, '"')
}

func appendEscaped(b []byte, s string) []byte {
	if !strings.ContainsAny(s, "\\\"\n") {
		return append(b, s...)
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			b = append(b, '\\', '\\')
		case '"':
			b = append(b, '\\', '"')
		case '\n':
			b = append(b, '\\', 'n')
		default:
			b = append(b, c)
		}
	}
	return b
}

// cleanLabelValue cuts an overlong value and replaces what is not UTF-8: either
// would cost the whole scrape, not only the series.
func cleanLabelValue(s string) string {
	if len(s) > maxLabelValue {
		cut := maxLabelValue
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut]
	}
	if !utf8.ValidString(s) {
		// One byte replaces each run of invalid bytes, so the value never grows.
		s = strings.ToValidUTF8(s, "?")
	}
	return s
}

// appendValue ends a line with an integer.
func appendValue(b []byte, v int64) []byte {
	b = append(b, '}', ' ')
	b = strconv.AppendInt(b, v, 10)
	return append(b, '\n')
}

// appendTimestamp ends a line with a moment in seconds since the Unix epoch.
// Digits in plain notation keep the microseconds and are what a person expects.
func appendTimestamp(b []byte, t fact.Time) []byte {
	b = append(b, '}', ' ')
	b = strconv.AppendFloat(b, t.Seconds(), 'f', -1, 64)
	return append(b, '\n')
}

// appendKnownTimestamp is appendTimestamp for a moment that may be unknown: there is no line then.
func appendKnownTimestamp(b []byte, t fact.Time) []byte {
	if t.IsZero() {
		return b
	}
	return appendTimestamp(b, t)
}
