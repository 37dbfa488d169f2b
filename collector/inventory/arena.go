package inventory

import (
	"slices"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/intern"
)

// retainList returns a list that is kept for as long as an object: in the slab, if the object
// came in a list.
func retainList[T any](inv *Inventory, in *intern.Slab[T], list []T) []T {
	if !inv.listing {
		return slices.Clip(list)
	}
	return in.Hold(list)
}

// retainOne returns one such element.
func retainOne[T any](inv *Inventory, in *intern.Slab[T], element T) *T {
	if !inv.listing {
		return &element
	}
	return &in.Hold([]T{element})[0]
}

// retainString returns a string that is kept for as long as an object.
func (inv *Inventory) retainString(s string) string {
	if !inv.listing {
		return s
	}
	return inv.names.Hold(s)
}

// retainLabels returns m packed, to be kept for as long as an object; p if it is that already.
func (inv *Inventory) retainLabels(p intern.Labels, m fact.Labels) intern.Labels {
	if p.Equal(m) {
		return p
	}
	p = intern.Pack(m)
	if inv.listing {
		p = p.In(&inv.names)
	}
	return p
}
