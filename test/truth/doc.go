// Package truth computes, from the API server's audit log alone, what a catalog has to say, and compares.
//
// The audit log has every version of every object, in order. From it follow the rows of the catalog's tables, the state
// of each volume and its last use, by code that shares nothing with collector/inventory: if the two agree, one mistake in
// one of them cannot explain it.
//
// A tracker that was killed, stopped or cut off cannot know everything. Gaps say when nobody watched, and the comparison
// accepts there what nobody can know: bounds in place of a moment, or, in a lossy gap, no row at all.
package truth

import "context"

// background is the context of requests that no test cuts short.
var background = context.Background()
