package main

import (
	"archive/tar"
	"bytes"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"time"
)

// user is the user and group that the programs run as, and that owns their directories.
const user = 65532

// tree is the content of one layer, by path without a leading slash.
type tree map[string]entry

// entry is a file, a directory or a symbolic link.
type entry struct {
	typeflag byte
	mode     int64
	owner    int
	content  []byte // of a file,
	from     string // or the file on disk with its content
	target   string // of a link
}

func (t tree) directory(name string, mode int64, owner int) {
	t[name] = entry{typeflag: tar.TypeDir, mode: mode, owner: owner}
}

func (t tree) file(name string, mode int64, content []byte) {
	t[name] = entry{typeflag: tar.TypeReg, mode: mode, content: content}
}

func (t tree) copied(name string, mode int64, from string) {
	t[name] = entry{typeflag: tar.TypeReg, mode: mode, from: from}
}

func (t tree) link(name, target string) {
	t[name] = entry{typeflag: tar.TypeSymlink, mode: 0o777, target: target}
}

// parents adds the directories that the entries are in, for all to read.
func (t tree) parents() {
	for _, name := range slices.Collect(maps.Keys(t)) {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, ok := t[dir]; !ok {
				t.directory(dir, 0o755, 0)
			}
		}
	}
}

// writeTo writes the tree as a tar archive: sorted, and all of 1970, so that equal trees give equal archives.
func (t tree) writeTo(w io.Writer) error {
	t.parents()
	archive := tar.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(t)) {
		if err := t[name].writeTo(archive, name); err != nil {
			return err
		}
	}
	return archive.Close()
}

func (e entry) writeTo(archive *tar.Writer, name string) error {
	content, size, err := e.open()
	if err != nil {
		return err
	}
	defer content.Close()
	if e.typeflag == tar.TypeDir {
		name += "/"
	}
	header := &tar.Header{
		Typeflag: e.typeflag, Name: name, Linkname: e.target, Size: size, Mode: e.mode,
		Uid: e.owner, Gid: e.owner, ModTime: time.Unix(0, 0), Format: tar.FormatPAX,
	}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(archive, content)
	return err
}

// open returns the entry's content and its size.
func (e entry) open() (io.ReadCloser, int64, error) {
	if e.from == "" {
		return io.NopCloser(bytes.NewReader(e.content)), int64(len(e.content)), nil
	}
	f, err := os.Open(e.from)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}
