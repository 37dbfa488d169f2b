package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// unpack writes the files of an image into a directory, which must be empty or missing. As root it sets their
// owners, too. No entry of the archive can get out of the directory: os.Root sees to that.
func unpack(archive, dir string) error {
	image, err := tarball.ImageFromPath(archive, nil)
	if err != nil {
		return fmt.Errorf("%s is no archive of an image: %w", archive, err)
	}
	files := mutate.Extract(image)
	defer files.Close()
	return extract(files, dir)
}

// writeTree writes the files that an image would have into a directory.
func writeTree(s *source, name, arch, dir string) error {
	k, err := kindNamed(name)
	if err != nil {
		return err
	}
	c, err := k.contents(s, arch)
	if err != nil {
		return err
	}
	all := tree{}
	for _, layer := range c.layers {
		for name, e := range layer {
			all[name] = e
		}
	}
	r, w := io.Pipe()
	go func() { w.CloseWithError(all.writeTo(w)) }()
	defer r.Close()
	return extract(r, dir)
}

// extract writes the entries of a tar archive into a directory.
func extract(r io.Reader, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if present, err := os.ReadDir(dir); err != nil || len(present) > 0 {
		return errors.Join(err, fmt.Errorf("%s is not empty: name another directory", dir))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	archive := tar.NewReader(r)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := extractEntry(root, h, archive); err != nil {
			return fmt.Errorf("unpack %s: %w", h.Name, err)
		}
	}
}

func extractEntry(root *os.Root, h *tar.Header, r io.Reader) error {
	name := strings.TrimSuffix(h.Name, "/")
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	var err error
	switch h.Typeflag {
	case tar.TypeDir:
		err = root.MkdirAll(name, 0o755)
	case tar.TypeSymlink:
		return root.Symlink(h.Linkname, name)
	case tar.TypeReg:
		err = extractFile(root, name, r)
	default:
		return fmt.Errorf("entries of type %q are not expected", h.Typeflag)
	}
	if err != nil {
		return err
	}
	if os.Geteuid() == 0 {
		if err := root.Lchown(name, h.Uid, h.Gid); err != nil {
			return err
		}
	}
	return root.Chmod(name, mode(h))
}

// mode returns a file's permissions, with the sticky bit.
func mode(h *tar.Header) fs.FileMode { return h.FileInfo().Mode() & (fs.ModePerm | fs.ModeSticky) }

func extractFile(root *os.Root, name string, r io.Reader) (err error) {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = io.Copy(f, r)
	return err
}
