package embedded

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
)

// checkLibraryFile rejects a wrong file before the dynamic linker reads it, because the linker's
// messages name neither the platform nor the cure.
func checkLibraryFile(path string) error {
	info, err := os.Stat(path) // before opening it, because opening a pipe waits
	if err != nil {
		return rootCause(err)
	}
	if !info.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return rootCause(err)
	}
	defer f.Close()
	if runtime.GOOS != "linux" {
		return nil // only the dynamic linker checks Mach-O
	}
	head := make([]byte, len(elf.ELFMAG))
	if _, err := io.ReadFull(f, head); err != nil || !bytes.Equal(head, []byte(elf.ELFMAG)) {
		return errors.New("it is not an ELF shared library")
	}
	file, err := elf.NewFile(f)
	if err != nil {
		return fmt.Errorf("it is damaged: %w", err)
	}
	want := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]
	if file.Machine != want {
		return fmt.Errorf("it is built for %s, this machine needs %s", file.Machine, want)
	}
	for _, p := range file.Progs {
		if p.Type == elf.PT_LOAD && int64(p.Off+p.Filesz) > info.Size() { //nolint:gosec // a damaged header is refused later, too: the library is loaded by dlopen
			return fmt.Errorf("it is cut short (%d bytes)", info.Size())
		}
	}
	return nil
}
