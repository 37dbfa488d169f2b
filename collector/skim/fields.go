package skim

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// message says which fields of a protobuf message are kept. Its index is the field's number; nil drops the field, and a
// message keeps the fields of the field's own message. A dropped field costs nothing but the step over its bytes.
type message []*message

// whole keeps a field as it is. An empty message keeps of a field only that it is set.
var (
	whole = &message{}
	empty = &message{}
)

// keeping returns a message that keeps whole fields and, by number, parts of fields.
func keeping(wholes []protowire.Number, parts map[protowire.Number]*message) *message {
	var m message
	set := func(number protowire.Number, kept *message) {
		for len(m) <= int(number) {
			m = append(m, nil)
		}
		m[number] = kept
	}
	for _, number := range wholes {
		set(number, whole)
	}
	for number, kept := range parts {
		set(number, kept)
	}
	return &m
}

type (
	numbers = []protowire.Number
	fields  = map[protowire.Number]*message
)

// errMalformed says that bytes are no protobuf message of the expected form.
var errMalformed = errors.New("malformed protobuf")

// appendKept appends the kept fields of a message to kept, in their order, and returns the extended slice.
//
// A nested message keeps as many bytes for its length as before, which is never less than it needs: protobuf allows
// numbers with leading zeros. Its length is then written once it is known.
func (m *message) appendKept(kept, data []byte) ([]byte, error) {
	for len(data) > 0 {
		number, form, tag := protowire.ConsumeTag(data)
		if tag < 0 {
			return kept, errMalformed
		}
		value := protowire.ConsumeFieldValue(number, form, data[tag:])
		if value < 0 {
			return kept, errMalformed
		}
		field := data[:tag+value]
		data = data[tag+value:]
		if int(number) >= len(*m) || (*m)[number] == nil {
			continue
		}
		part := (*m)[number]
		if part == whole {
			kept = append(kept, field...)
			continue
		}
		if form != protowire.BytesType {
			return kept, errMalformed
		}
		var err error
		if kept, err = part.appendNested(kept, field, tag); err != nil {
			return kept, err
		}
	}
	return kept, nil
}

// appendNested appends a field that is a message, of which parts are kept. Its tag is the given number of bytes long.
func (m *message) appendNested(kept, field []byte, tag int) ([]byte, error) {
	content, value := protowire.ConsumeBytes(field[tag:])
	if value < 0 {
		return kept, errMalformed
	}
	width := value - len(content) // of the length
	kept = append(kept, field[:tag+width]...)
	begin := len(kept)
	kept, err := m.appendKept(kept, content)
	if err != nil {
		return kept, err
	}
	putLength(kept[begin-width:begin], len(kept)-begin)
	return kept, nil
}

// putLength writes a number in exactly as many bytes as there are.
func putLength(bytes []byte, length int) {
	for i := range bytes {
		bytes[i] = byte(length&0x7f) | 0x80
		length >>= 7
	}
	bytes[len(bytes)-1] &= 0x7f
}
