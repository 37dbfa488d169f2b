//go:build !linux

package app

// unload does nothing where what it does on Linux is not known to be safe.
func unload() {}
