package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// lockDirectory makes sure that only one cluster lives in dir. The lock goes with the
// process that holds it. gofrs/flock does the same, but hides the file, which holds the pid.
func lockDirectory(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder := make([]byte, 20)
		n, _ := lock.ReadAt(holder, 0)
		_ = lock.Close()
		return nil, fmt.Errorf("%s is in use by the cluster of process %s: stop that one, or choose another --dir", dir, string(holder[:n]))
	}
	_ = lock.Truncate(0)
	_, err = lock.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
	return lock, err
}

// inUse reports whether a cluster runs in dir. What its pid files say is true only then.
func inUse(dir string) bool {
	lock, err := os.Open(filepath.Join(dir, "lock"))
	if err != nil {
		return false
	}
	defer lock.Close()
	return syscall.Flock(int(lock.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil
}
