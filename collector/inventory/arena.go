package inventory

import (
	"slices"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/intern"
)

// retainList returns a list to keep for as long as its object. While a list of objects is being
// taken (Replace, Restore), it copies the list into the slab; see intern.Slab for the reason.
func retainList[T any](inv *Inventory, in *intern.Slab[T], list []T) []T {
	if !inv.listing {
		return slices.Clip(list)
	}
	return in.Hold(list)
}

// retainOne is retainList for one element.
func retainOne[T any](inv *Inventory, in *intern.Slab[T], element T) *T {
	if !inv.listing {
		return &element
	}
	return &in.Hold([]T{element})[0]
}

// retainString returns a string to keep for as long as its object, as retainList does for lists.
func (inv *Inventory) retainString(s string) string {
	if !inv.listing {
		return s
	}
	return inv.names.Hold(s)
}

// retainLabels returns m packed, to keep for as long as its object; it returns p if p equals m.
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
