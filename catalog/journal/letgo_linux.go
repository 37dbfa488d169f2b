package journal

import (
	"syscall"

	"go.etcd.io/bbolt"
)

// letGo has the kernel take the file's pages out of this process's memory, where each page
// that a transaction has looked at stays otherwise, for as long as there is room: a process
// that grows by the size of its journal. They stay in the page cache, from where they come
// back in microseconds when they are looked at again. That a kernel may refuse is no matter.
func letGo(tx *bbolt.Tx) error {
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, tx.DB().Info().Data, uintptr(tx.Size()), syscall.MADV_DONTNEED)
	return nil
}
