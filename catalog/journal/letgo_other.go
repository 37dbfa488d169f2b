//go:build !linux

package journal

import "go.etcd.io/bbolt"

// letGo does nothing where what it does on Linux is not known to be safe.
func letGo(*bbolt.Tx) error { return nil }
