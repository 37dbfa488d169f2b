package journal

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
)

// committed is the content of the small file COMMITTED: the ID of the journal in the directory, and
// the number of its last commit. The file reveals that the end of the journal is lost, which the
// database takes for a write that a crash cut short.
//
// Each commit overwrites the file after the database has fsynced the commit, so the file is never
// ahead. The file is not fsynced: it survives the end of the process at once, and a crash of the
// machine a few seconds later, when the kernel has written it. Until then it may be behind, and
// reveals less.
type committed struct {
	format  int
	id      string
	commits uint64
	damaged bool // damage was found while the journal was open: Open sets the directory aside
}

// committedName is the file's name; Pebble ignores names that are not its own.
const committedName = "COMMITTED"

// committedLine has the same length for all numbers, and fits into one sector.
const committedLine = "format=%04d id=%26s commits=%020d damaged=%-5t "

func (c committed) encode() []byte {
	line := fmt.Appendf(nil, committedLine, c.format, c.id, c.commits, c.damaged)
	return fmt.Appendf(line, "crc=%08x\n", crc32.ChecksumIEEE(line))
}

func (c committed) write(f *os.File) error {
	_, err := f.WriteAt(c.encode(), 0)
	return err
}

// readCommitted reads the file of a directory. The error is ErrCorrupt if the file is missing or
// damaged, and ErrNewerFormat if a later version of the program wrote it.
func readCommitted(path string) (c committed, err error) {
	f, err := os.Open(filepath.Join(path, committedName))
	if err != nil {
		return c, readError(err)
	}
	defer f.Close()
	line := make([]byte, len(committed{}.encode()))
	if _, err := io.ReadFull(f, line); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return c, corruptf("%s is cut short", committedName)
	} else if err != nil {
		return c, readError(err)
	}
	var crc uint32
	_, err = fmt.Sscanf(string(line), "format=%d id=%s commits=%d damaged=%t crc=%x\n", &c.format, &c.id, &c.commits, &c.damaged, &crc)
	if err != nil || crc != crc32.ChecksumIEEE(line[:len(line)-len("crc=00000000\n")]) {
		return committed{}, corruptf("%s does not match its checksum", committedName)
	}
	if c.format > format {
		return c, fmt.Errorf("%w: its format is %d, this program knows %d", ErrNewerFormat, c.format, format)
	}
	return c, nil
}
