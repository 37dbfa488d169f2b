package catalog

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	"k8s.io/apimachinery/pkg/util/duration"
)

// RFC 3339, with microseconds only where there are any.
const timeLayout = "2006-01-02T15:04:05.999999Z07:00"

// humanText is a value for people, on one line, safe for a terminal.
func humanText(v any, unit Unit) string {
	if text := measure(v, unit); text != "" {
		return text
	}
	if list, ok := v.([]string); ok {
		return cmp.Or(Printable(listText(list)), "-")
	}
	return cmp.Or(Printable(plainText(v)), "-")
}

// listShown is how many elements people see of a longer list: a volume can have been on hundreds of nodes.
const listShown = 8

func listText(list []string) string {
	more := len(list) - listShown
	if more < 2 { // "and 1 more" would take as much room as that one
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:listShown], ", "), more)
}

// measure is a number with its unit, such as 10 GiB or 41d; empty if v is no such number.
func measure(v any, unit Unit) string {
	n, isNumber := number(v)
	whole, isInteger := integer(v)
	switch {
	case !isNumber:
	case unit == ByteHours:
		return measure(v, Bytes) + "·h"
	case unit == Bytes && n >= 0 && n < math.MaxInt64: // false for NaN
		return humanize.IBytes(uint64(n))
	case unit == Bytes && n < 0 && n > math.MinInt64:
		return "-" + humanize.IBytes(uint64(-n))
	case unit == Bytes && n >= math.MaxInt64 && isInteger:
		return humanize.BigIBytes(whole)
	case unit == Seconds && n >= 0 && n < math.MaxInt64/1e9:
		return duration.HumanDuration(time.Duration(n * float64(time.Second)))
	}
	return ""
}

// plainText is a value for programs: raw numbers, RFC 3339 times, JSON for lists
// and maps, nothing for NULL.
func plainText(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return x
	case time.Time:
		return x.Format(timeLayout)
	case float64:
		return strconv.FormatFloat(x, 'f', -1, 64)
	case float32:
		return strconv.FormatFloat(float64(x), 'f', -1, 32)
	case fmt.Stringer:
		return x.String()
	}
	switch reflect.ValueOf(v).Kind() {
	case reflect.Slice, reflect.Array, reflect.Map, reflect.Struct, reflect.Pointer:
		return jsonText(v)
	}
	return fmt.Sprint(v)
}

// jsonText is v in JSON, with times as CSV has them.
func jsonText(v any) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(encodable(v)); err != nil {
		return jsonText(fmt.Sprint(v))
	}
	return escapeUnsafe(strings.TrimSuffix(out.String(), "\n"))
}

// encodable replaces in v what encoding/json refuses, or takes for something
// else: NaN and Inf are null, and a list of UInt8 is one of numbers, not base64.
func encodable(v any) any {
	switch x := v.(type) {
	case time.Time:
		return x.Format(timeLayout)
	case json.Marshaler, encoding.TextMarshaler:
		return v
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Float32, reflect.Float64:
		if math.IsNaN(r.Float()) || math.IsInf(r.Float(), 0) {
			return nil
		}
	case reflect.Pointer:
		if r.IsNil() {
			return nil
		}
		return encodable(r.Elem().Interface())
	case reflect.Slice, reflect.Array:
		list := make([]any, r.Len())
		for i := range list {
			list[i] = encodable(r.Index(i).Interface())
		}
		return list
	case reflect.Map:
		values := reflect.MakeMapWithSize(reflect.MapOf(r.Type().Key(), reflect.TypeFor[any]()), r.Len())
		for key, value := range r.Seq2() {
			element := reflect.New(reflect.TypeFor[any]()).Elem()
			if e := encodable(value.Interface()); e != nil {
				element.Set(reflect.ValueOf(e))
			}
			values.SetMapIndex(key, element)
		}
		return values.Interface()
	}
	return v
}

// Printable escapes what would move a terminal's cursor, break the line, or turn
// the text around: names and paths come from whoever may create a pod.
func Printable(s string) string {
	if !strings.ContainsFunc(s, dangerous) {
		return s
	}
	var out strings.Builder
	for _, r := range s {
		if dangerous(r) {
			quoted := strconv.QuoteRuneToASCII(r)
			out.WriteString(quoted[1 : len(quoted)-1])
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

func dangerous(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == 0x7f
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) || r == unicode.ReplacementChar
}

// unsafeInJSON reports whether encoding/json leaves a character as it is that can do harm: the control characters DEL and U+0080 to
// U+009F, which some terminals obey, and the noncharacters U+FFFE and U+FFFF, which YAML does not allow.
func unsafeInJSON(r rune) bool { return unicode.IsControl(r) || r == 0xfffe || r == 0xffff }

// escapeUnsafe escapes the characters that unsafeInJSON reports.
func escapeUnsafe(s string) string {
	if !strings.ContainsFunc(s, unsafeInJSON) {
		return s
	}
	var out strings.Builder
	for _, r := range s {
		if unsafeInJSON(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}
