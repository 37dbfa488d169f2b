package main

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// fetch returns the path of a package's file, which apt-get downloads into the cache if it is not there.
// A file put there by hand is as good: its SHA-256 decides.
func (p debianPackage) fetch(cache string) (string, error) {
	dir := filepath.Join(cache, "debian")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	file := filepath.Join(dir, fmt.Sprintf("%s_%s_%s.deb", p.name, url.QueryEscape(p.version), p.arch))
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		if err := p.download(dir, file); err != nil {
			return "", err
		}
	}
	if err := checkSHA256(file, p.sha256); err != nil {
		return "", fmt.Errorf("%w; remove the file, and try again", err)
	}
	return file, nil
}

// download asks apt-get with the machine's package lists; if that fails, once more with fresh lists of the
// cache's own, which need no rights and can be of another architecture.
func (p debianPackage) download(dir, file string) error {
	if err := aptGet(dir, "download", p.name+"="+p.version); err == nil && p.take(dir, file) == nil {
		return nil
	}
	private, err := privateLists(dir, p.arch)
	if err == nil {
		err = aptGet(dir, append(private, "update")...)
	}
	if err == nil {
		err = aptGet(dir, append(private, "download", p.name+"="+p.version)...)
	}
	if err == nil {
		err = p.take(dir, file)
	}
	if err != nil {
		return fmt.Errorf("the Debian package %s %s (%s) cannot be downloaded: %w; "+
			"build where apt has Debian 12 (bookworm), or put the file from snapshot.debian.org there as %s",
			p.name, p.version, p.arch, err, file)
	}
	return nil
}

// take renames what apt-get has downloaded, in whose file name it has escaped the version, if it is this package.
func (p debianPackage) take(dir, file string) error {
	found, err := filepath.Glob(filepath.Join(dir, p.name+"_*_"+p.arch+".deb"))
	if err != nil {
		return err
	}
	for _, name := range found {
		if checkSHA256(name, p.sha256) == nil {
			return os.Rename(name, file)
		}
	}
	return fmt.Errorf("apt-get left no file with the SHA-256 %s", p.sha256)
}

// privateLists returns apt-get's options for package lists of an architecture in dir.
func privateLists(dir, arch string) ([]string, error) {
	if arch == "all" {
		arch = "amd64" // every architecture's list has them
	}
	lists, archives := filepath.Join(dir, "lists-"+arch), filepath.Join(dir, "archives")
	for _, d := range []string{lists, archives} {
		if err := os.MkdirAll(filepath.Join(d, "partial"), 0o755); err != nil {
			return nil, err
		}
	}
	return []string{
		"-o", "Dir::State::lists=" + lists, "-o", "Dir::Cache=" + archives, "-o", "Dir::Cache::archives=" + archives,
		"-o", "APT::Architecture=" + arch, "-o", "APT::Architectures=" + arch, "-o", "APT::Sandbox::User=",
	}, nil
}

func aptGet(dir string, args ...string) error {
	cmd := exec.Command("apt-get", append([]string{"-q"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("apt-get is not installed")
	}
	if err != nil {
		return fmt.Errorf("apt-get: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// files calls visit for each regular file and symbolic link of a package.
func (p debianPackage) files(cache string, visit func(h *tar.Header, r io.Reader) error) error {
	file, err := p.fetch(cache)
	if err != nil {
		return err
	}
	cmd := exec.Command("dpkg-deb", "--fsys-tarfile", file)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%w; install dpkg, which unpacks Debian's packages", err)
	}
	err = eachFile(out, visit)
	_, drained := io.Copy(io.Discard, out)
	if err := errors.Join(err, drained, cmd.Wait()); err != nil {
		return fmt.Errorf("unpack %s: %w", file, err)
	}
	return nil
}

func eachFile(r io.Reader, visit func(h *tar.Header, r io.Reader) error) error {
	archive := tar.NewReader(r)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		h.Name = strings.TrimPrefix(path.Clean("/"+h.Name), "/")
		if h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeSymlink {
			continue
		}
		if err := visit(h, archive); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
	}
}

// checkSHA256 returns an error if a file has another SHA-256.
func checkSHA256(name, want string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return err
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != want {
		return fmt.Errorf("%s has the SHA-256 %s, want %s", name, got, want)
	}
	return nil
}
