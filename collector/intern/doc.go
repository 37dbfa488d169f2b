// Package intern stores small values compactly: strings that many objects share (Word), sets of
// labels (Labels), and the strings and lists of one list next to each other (Arena, Slab).
//
// A cluster of 20,000 volumes has several hundred thousand objects, most of whose text is the same.
// Shared values are handles of the standard library's package unique: eight bytes that compare with
// ==.
package intern
