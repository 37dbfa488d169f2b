package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/dustin/go-humanize"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// buildAll builds all images, or only the one of that name, into dir, and says what it has made and how to load it.
func buildAll(s *source, only, dir string, report io.Writer) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, k := range kinds {
		if only != "" && only != k.name {
			continue
		}
		for _, arch := range k.arches {
			if err := buildOne(s, k, arch, dir, report); err != nil {
				return err
			}
		}
	}
	example := archiveName(dir, kinds[0].name, runtime.GOARCH)
	_, err := fmt.Fprintf(report, "\nload: podman load -i %[1]s   (or docker load -i …, ctr image import …, skopeo copy oci-archive:…)\n"+
		"push: make image-push REPOSITORY=registry.example/team\n", example)
	return err
}

func buildOne(s *source, k kind, arch, dir string, report io.Writer) error {
	content, err := k.contents(s, arch)
	if err != nil {
		return err
	}
	image, err := k.image(s, arch, content)
	if err != nil {
		return err
	}
	path := archiveName(dir, k.name, arch)
	if err := writeArchive(path, image, k.name, s.version); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, k.name+"-"+arch+".cdx.json"), content.sbom, 0o644); err != nil {
		return err
	}
	digest, err := image.Digest()
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(report, "%s  %s  %s\n", path, humanize.Bytes(uint64(info.Size())), digest) //nolint:gosec // the size of a file is not negative
	return err
}

// archiveName returns the path of the archive of an image.
func archiveName(dir, image, arch string) string {
	return filepath.Join(dir, image+"-"+arch+".tar")
}

// image returns the image of a content.
func (k kind) image(s *source, arch string, c *content) (v1.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	date := v1.Time{Time: time.Unix(s.created, 0).UTC()}
	for _, t := range c.layers {
		layer, err := s.layer(t)
		if err != nil {
			return nil, err
		}
		image, err = mutate.Append(image, mutate.Addendum{
			Layer: layer, MediaType: types.OCILayer,
			History: v1.History{Created: date, CreatedBy: "make image", Comment: k.name},
		})
		if err != nil {
			return nil, err
		}
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created = "linux", arch, date
	file.Config = k.config(s)
	return mutate.ConfigFile(image, file)
}

// config returns how the image runs. It declares no volume: an engine would mount a new, anonymous one wherever
// the user has forgotten to mount his own, and the history would be lost with it unnoticed.
func (k kind) config(s *source) v1.Config {
	return v1.Config{
		User:         fmt.Sprintf("%d:%d", user, user),
		Entrypoint:   []string{"/usr/local/bin/" + k.name},
		Env:          []string{"PATH=/usr/local/bin", k.dataVariable + "=" + k.dataDir},
		WorkingDir:   "/",
		ExposedPorts: map[string]struct{}{k.port: {}},
		Labels:       k.labels(s),
	}
}

// labels returns the annotations of the OCI, https://github.com/opencontainers/image-spec/blob/main/annotations.md.
func (k kind) labels(s *source) map[string]string {
	const repository = "https://github.com/kubevoltracker/kubevoltracker"
	return map[string]string{
		"org.opencontainers.image.title":       k.title,
		"org.opencontainers.image.description": k.description,
		"org.opencontainers.image.version":     s.version,
		"org.opencontainers.image.revision":    s.revision,
		"org.opencontainers.image.created":     time.Unix(s.created, 0).UTC().Format(time.RFC3339),
		"org.opencontainers.image.source":      repository,
		"org.opencontainers.image.url":         repository,
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.base.name":   "scratch",
	}
}
