//go:build !linux

package sandbox

import "os"

// Version returns 0: only Linux has Landlock.
func Version() int { return 0 }

// Confined returns false.
func Confined() bool { return false }

// Enter returns ErrUnsupported.
func Enter(Rules, any, ...*os.File) error { return ErrUnsupported }
