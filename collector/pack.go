package collector

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/klauspost/compress/s2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

// packed is a trimmed object of a list, as compressed protobuf: a pod with two containers takes
// about 400 bytes, and 10 KB as the API's types. All objects of a cluster are in memory at once
// before the collector takes the first lists, and stay there until they are in the journal.
type packed struct {
	kind fact.Kind
	uid  string
	as   reflect.Type
	data []byte   // the output of inventory.Wire, and behind it the metadata that Wire leaves out
	with *s2.Dict // the dictionary with which data is compressed; nil if it is not

	wireLength int // of the output of inventory.Wire in data, uncompressed
}

// protobuf is the part of the API's types that packing needs.
type protobuf interface {
	metav1.Object
	Unmarshal([]byte) error
}

// packer packs the objects of one list. The first object is the compression dictionary of the
// others: objects of a list differ in little but names.
type packer struct {
	kind       fact.Kind
	dictionary *s2.Dict
	buffer     []byte // of the last object
}

// pack packs a trimmed object for Inventory.Replace. It returns an object unchanged that has no
// protobuf form, or of which that form leaves out more than metadata, as of a Node.
func (p *packer) pack(obj any) any {
	o, ok := obj.(protobuf)
	if _, node := obj.(*corev1.Node); node || !ok {
		return obj
	}
	wire := inventory.Wire(o)
	rest, err := (&metav1.ObjectMeta{ResourceVersion: o.GetResourceVersion(), ManagedFields: o.GetManagedFields()}).Marshal()
	if err != nil {
		return obj
	}
	packed := &packed{
		kind: p.kind, uid: strings.Clone(string(o.GetUID())), as: reflect.TypeOf(o).Elem(),
		data: slices.Concat(wire, rest), wireLength: len(wire), with: p.dictionary,
	}
	if p.dictionary == nil {
		p.dictionary = s2.MakeDict(packed.data, nil)
	} else {
		p.buffer = p.dictionary.Encode(p.buffer[:cap(p.buffer)], packed.data)
		packed.data = slices.Clone(p.buffer)
	}
	return packed
}

// Pack packs a single object. The measurements of test/compare need it.
func Pack(kind fact.Kind, obj any) any { return (&packer{kind: kind}).pack(obj) }

func (p *packed) Identity() (fact.Kind, string) { return p.kind, p.uid }

func (p *packed) Unpack() metav1.Object {
	o, rest := reflect.New(p.as).Interface().(protobuf), metav1.ObjectMeta{}
	data := p.plain()
	if err := errors.Join(o.Unmarshal(data[:p.wireLength]), rest.Unmarshal(data[p.wireLength:])); err != nil {
		panic(p.broken(err))
	}
	o.SetResourceVersion(rest.ResourceVersion)
	o.SetManagedFields(rest.ManagedFields)
	if metadata, ok := o.(*metav1.PartialObjectMetadata); ok {
		metadata.Kind = string(p.kind) // protobuf does not carry it
	}
	own(o)
	return o
}

func (p *packed) Wire() []byte { return slices.Clip(p.plain()[:p.wireLength]) }

func (p *packed) Size() int { return len(p.data) }

// plain returns data uncompressed.
func (p *packed) plain() []byte {
	if p.with == nil {
		return p.data
	}
	data, err := p.with.Decode(nil, p.data)
	if err != nil {
		panic(p.broken(err))
	}
	return data
}

// broken returns what to panic with: only broken memory can cause it.
func (p *packed) broken(err error) string {
	return fmt.Sprintf("a %s cannot be read as it was written: %v", p.kind, err)
}
