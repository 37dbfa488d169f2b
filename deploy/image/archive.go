package main

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// writeArchive writes an image as a tar archive of the OCI image layout. A manifest.json like that of `docker save`
// is added, so that Docker before version 25 can load it, too.
func writeArchive(path string, image v1.Image, name, tag string) error {
	dir, err := os.MkdirTemp(filepath.Dir(path), ".layout-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	l, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return err
	}
	options := []layout.Option{
		layout.WithAnnotations(map[string]string{
			"io.containerd.image.name":          name + ":" + tag,
			"org.opencontainers.image.ref.name": tag,
		}),
		layout.WithPlatform(v1.Platform{OS: config.OS, Architecture: config.Architecture}),
	}
	if err := l.AppendImage(image, options...); err != nil {
		return err
	}
	if err := writeManifest(dir, image, name+":"+tag); err != nil {
		return err
	}
	partial := path + ".partial"
	if err := tarDirectory(dir, partial); err != nil {
		return err
	}
	return os.Rename(partial, path)
}

// writeManifest writes the manifest.json of `docker save`.
func writeManifest(dir string, image v1.Image, tag string) error {
	manifest, err := image.Manifest()
	if err != nil {
		return err
	}
	blob := func(h v1.Hash) string { return "blobs/" + h.Algorithm + "/" + h.Hex }
	layers := []string{}
	for _, l := range manifest.Layers {
		layers = append(layers, blob(l.Digest))
	}
	text, err := json.Marshal([]map[string]any{{"Config": blob(manifest.Config.Digest), "RepoTags": []string{tag}, "Layers": layers}})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "manifest.json"), text, 0o644)
}

// tarDirectory writes the files of a directory into an archive, sorted and all of 1970.
func tarDirectory(dir, path string) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	archive := tar.NewWriter(f)
	err = filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || file == dir {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		return addFile(archive, file, name, d.IsDir())
	})
	return errors.Join(err, archive.Close())
}

func addFile(archive *tar.Writer, file, name string, isDir bool) error {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, ModTime: time.Unix(0, 0), Format: tar.FormatPAX}
	if isDir {
		header.Typeflag, header.Name, header.Mode = tar.TypeDir, name+"/", 0o755
		return archive.WriteHeader(header)
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	header.Size = info.Size()
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(archive, f)
	return err
}
