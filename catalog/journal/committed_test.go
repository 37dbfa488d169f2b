package journal

import (
	"path/filepath"
	"testing"
)

// The batch is on disk all the same: an error would have the caller commit it again and again.
func TestACommitSucceedsWithoutTheFileCommitted(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "journal"))
	if err := j.store.committed.Close(); err != nil { // stands for an error of the disk
		t.Fatal(err)
	}
	for range 3 {
		commit(t, j, Batch{Facts: []byte("a batch"), Rows: 1})
	}
	if e := drain(t, j, 0); len(e) != 3 {
		t.Errorf("%d batches", len(e))
	}
}
