package embedded

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// libraryHashes are the SHA-256 of libchdb.so of LibraryVersion, by GOOS/GOARCH.
var libraryHashes = map[string]string{
	"linux/amd64": "36ad4e999882821ef13cf2d0f52c93f48e6ee1b4498b35a201c23ce4b8d15bf5",
}

// checkLibraryHash refuses a library that others could have replaced, unless it is the one that this
// package was tested with. It costs a second, so a file that only its owner, root or this user, can
// change is trusted.
func checkLibraryHash(path string) error {
	who := writableByOthers(path)
	if who == "" {
		return nil
	}
	platform := runtime.GOOS + "/" + runtime.GOARCH
	want := libraryHashes[platform]
	if want == "" {
		return fmt.Errorf("%s, and the hash of version %s for %s is not known: let only root or this user write it", who, LibraryVersion, platform)
	}
	f, err := os.Open(path)
	if err != nil {
		return rootCause(err)
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return rootCause(err)
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != want {
		return fmt.Errorf("%s, and its SHA-256 is %s, not that of version %s (%s)", who, got, LibraryVersion, want)
	}
	return nil
}

// writableByOthers says who else than root and this user can change a file, or put another one in
// its place; "" if nobody can.
func writableByOthers(path string) string {
	for _, name := range []string{path, filepath.Dir(path)} {
		info, err := os.Stat(name)
		if err != nil {
			continue // opening it says why
		}
		owner := info.Sys().(*syscall.Stat_t).Uid
		switch mode := info.Mode(); {
		case owner != 0 && int(owner) != os.Geteuid():
			return fmt.Sprintf("%s belongs to user %d", name, owner)
		case mode.Perm()&0o022 != 0 && !(mode.IsDir() && mode&os.ModeSticky != 0):
			return fmt.Sprintf("others can write %s", name)
		}
	}
	return ""
}

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
