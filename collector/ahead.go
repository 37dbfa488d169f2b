package collector

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
	"github.com/kubevoltracker/kubevoltracker/collector/redact"
)

// aheadObjects is how many objects are decoded at once.
const aheadObjects = 128

// ahead decodes saved objects before an inventory restores them. Another goroutine reads and decodes the next objects
// meanwhile, which takes as long as restoring them.
type ahead struct {
	objects fact.SavedObjects
	policy  redact.Policy // of Trim, which that goroutine calls
}

// Each implements fact.SavedObjects. After an error of restore it calls restore no more, but reads on.
func (a ahead) Each(restore func(*fact.SavedObject) error) (err error) {
	lists, used := make(chan []fact.SavedObject, 1), make(chan []fact.SavedObject, 3) // there are no more than three: one is read, one waits, one is restored
	next := func() []fact.SavedObject {
		select {
		case list := <-used:
			return list[:0]
		default:
			return make([]fact.SavedObject, 0, aheadObjects)
		}
	}
	var unread error
	go func() {
		defer close(lists)
		list := next()
		unread = a.objects.Each(func(o *fact.SavedObject) error {
			if list = append(list, a.decode(*o)); len(list) == aheadObjects {
				lists <- list
				list = next()
			}
			return nil
		})
		lists <- list
	}()
	for list := range lists {
		for i := range list {
			if err == nil {
				err = restore(&list[i])
			}
		}
		clear(list) // the garbage collector can free the objects
		used <- list
	}
	return cmp.Or(err, unread)
}

// decode returns the object decoded. One that cannot be decoded stays as it is: the inventory reports it.
func (a ahead) decode(o fact.SavedObject) fact.SavedObject {
	object, err := inventory.Decode(o.Kind, o.Object, o.Wire)
	if err != nil {
		o.Object, o.Wire = strings.Clone(o.Object), bytes.Clone(o.Wire) // they are valid only now
		return o
	}
	Trim(a.policy, o.Kind, object)
	o.Object, o.Wire, o.Decoded = "", nil, object
	return o
}
