package exporter

import (
	"maps"
	"slices"
)

// latest are the newest states of objects, by UID. The Exporter's lock guards them.
type latest[S any] map[string]S

// apply takes a state, or forgets the object if it is gone.
func (l latest[S]) apply(uid string, state *S, gone bool) {
	if gone {
		delete(l, uid)
		return
	}
	l[uid] = *state
}

// present copies the states to expose.
func (l latest[S]) present() []S { return slices.Collect(maps.Values(l)) }
