package catalog

// SendAtMost sets how many rows can be sent along with a statement, and returns a function that sets it back.
func SendAtMost(rows int) (back func()) {
	most := mostSent
	mostSent = rows
	return func() { mostSent = most }
}

// DayOf is dayOf.
var DayOf = dayOf

// LeftOut is leftOut.
var LeftOut = leftOut
