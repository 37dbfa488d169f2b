package collector

import (
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// packed is a trimmed object as it goes over the wire: 1.3 KB of a pod with two containers,
// several times less than the API's types take. All objects of a cluster are there at once
// before the first lists are taken, and after that until they are in the journal.
type packed struct {
	kind fact.Kind
	uid  string
	as   reflect.Type
	wire []byte
}

// protobuf is what all of the API's types have.
type protobuf interface {
	metav1.Object
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// Pack packs a trimmed object, as Inventory.Replace takes it. One that has no such form is
// left as it is.
func Pack(kind fact.Kind, obj any) any {
	o, ok := obj.(protobuf)
	if !ok {
		return obj
	}
	wire, err := o.Marshal()
	if err != nil {
		return obj
	}
	return &packed{kind, strings.Clone(string(o.GetUID())), reflect.TypeOf(o).Elem(), wire}
}

func (p *packed) Identity() (fact.Kind, string) { return p.kind, p.uid }

func (p *packed) Unpack() metav1.Object {
	o := reflect.New(p.as).Interface().(protobuf)
	if err := o.Unmarshal(p.wire); err != nil {
		panic(fmt.Sprintf("a %s cannot be read as it was written: %v", p.kind, err))
	}
	return Trim(p.kind, o).(metav1.Object) // which gives it what does not go over the wire
}
