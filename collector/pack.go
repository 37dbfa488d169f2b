package collector

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/klauspost/compress/s2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// packed is a trimmed object of a list, as compressed protobuf: a pod with two containers takes
// about 400 bytes, and 10 KB as the API's types. All objects of a cluster are in memory at once
// before the collector takes the first lists, and stay there until they are in the journal.
type packed struct {
	kind fact.Kind
	uid  string
	as   reflect.Type
	data []byte   // compressed with dictionary
	with *s2.Dict // nil if data is not compressed
}

// protobuf is the part of the API's types that packing needs.
type protobuf interface {
	metav1.Object
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// packer packs the objects of one list. The first object is the compression dictionary of the
// others: objects of a list differ in little but names.
type packer struct {
	kind       fact.Kind
	dictionary *s2.Dict
}

// pack packs a trimmed object for Inventory.Replace. It returns an object without a protobuf form
// unchanged.
func (p *packer) pack(obj any) any {
	o, ok := obj.(protobuf)
	if !ok {
		return obj
	}
	wire, err := o.Marshal()
	if err != nil {
		return obj
	}
	packed := &packed{kind: p.kind, uid: strings.Clone(string(o.GetUID())), as: reflect.TypeOf(o).Elem(), data: wire, with: p.dictionary}
	if p.dictionary != nil {
		packed.data = append([]byte(nil), p.dictionary.Encode(nil, wire)...)
	} else {
		p.dictionary = s2.MakeDict(wire, nil)
	}
	return packed
}

// Pack packs a single object.
func Pack(kind fact.Kind, obj any) any { return (&packer{kind: kind}).pack(obj) }

func (p *packed) Identity() (fact.Kind, string) { return p.kind, p.uid }

func (p *packed) Unpack() metav1.Object {
	o, wire, err := reflect.New(p.as).Interface().(protobuf), p.data, error(nil)
	if p.with != nil {
		wire, err = p.with.Decode(nil, p.data)
	}
	if err == nil {
		err = o.Unmarshal(wire)
	}
	if err != nil {
		panic(fmt.Sprintf("a %s cannot be read as it was written: %v", p.kind, err)) // only broken memory causes this
	}
	return Trim(p.kind, o).(metav1.Object) // Trim sets again the fields that protobuf does not carry
}
