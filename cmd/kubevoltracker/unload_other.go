//go:build !linux

package main

// unload does nothing where what it does on Linux is not known to be safe.
func unload() {}
