package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"
)

// layer returns a tree as a layer, from the cache if the library's, whose compression takes long, is there.
func (s *source) layer(t tree) (v1.Layer, error) {
	dir := filepath.Join(s.cache, "layers")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if e, ok := t["usr/local/lib/libchdb.so"]; ok && e.from != "" {
		path := filepath.Join(dir, "libchdb-"+librarySHA256+".tar.gz")
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			if err := compress(t, path); err != nil {
				return nil, err
			}
		}
		return ociLayer(path)
	}
	f, err := os.CreateTemp(dir, "layer-*.tar.gz")
	if err != nil {
		return nil, err
	}
	// The image reads the layer only when the archive is written, so the file remains until the next build.
	path := f.Name()
	if err := f.Close(); err != nil {
		return nil, err
	}
	if err := compress(t, path); err != nil {
		return nil, err
	}
	layer, err := ociLayer(path)
	if err != nil {
		return nil, err
	}
	digest, err := layer.Digest()
	if err != nil {
		return nil, err
	}
	lasting := filepath.Join(dir, digest.Hex+".tar.gz")
	if err := os.Rename(path, lasting); err != nil {
		return nil, err
	}
	return ociLayer(lasting)
}

func ociLayer(path string) (v1.Layer, error) {
	return tarball.LayerFromFile(path, tarball.WithMediaType(types.OCILayer))
}

// compress writes a tree to path. The compressor is a pinned module, not Go's own, which may compress otherwise
// in its next version; the header of gzip has no name and no time.
func compress(t tree, path string) (err error) {
	partial := path + ".partial"
	f, err := os.Create(partial)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ignoreMissing(os.Remove(partial))) }()
	w, err := gzip.NewWriterLevel(f, gzip.DefaultCompression)
	if err != nil {
		return err
	}
	if err := errors.Join(t.writeTo(io.Writer(w)), w.Close(), f.Close()); err != nil {
		return fmt.Errorf("write the layer %s: %w", path, err)
	}
	return os.Rename(partial, path)
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
