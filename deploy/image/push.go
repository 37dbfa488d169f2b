package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// push pushes each image to a registry, as an index of its architectures. The registry's password is that of
// `docker login` or `podman login`.
func push(dir, repository, tag string, report io.Writer) error {
	for _, k := range kinds {
		index, version, cleanup, err := indexOf(k, dir)
		defer cleanup()
		if err != nil {
			return err
		}
		if tag != "" {
			version = tag
		}
		ref, err := name.NewTag(strings.TrimSuffix(repository, "/") + "/" + k.name + ":" + version)
		if err != nil {
			return fmt.Errorf("%w; a repository is like registry.example/team", err)
		}
		if err := remote.WriteIndex(ref, index, remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
			return fmt.Errorf("push %s: %w", ref, err)
		}
		digest, err := index.Digest()
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(report, "%s@%s\n", ref, digest); err != nil {
			return err
		}
	}
	return nil
}

// indexOf returns the index of an image's archives, and its version; cleanup removes what they were unpacked to.
func indexOf(k kind, dir string) (index v1.ImageIndex, version string, cleanup func(), err error) {
	temporary := []string{}
	cleanup = func() {
		for _, d := range temporary {
			_ = os.RemoveAll(d)
		}
	}
	index = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range k.arches {
		path := archiveName(dir, k.name, arch)
		unpacked, err := os.MkdirTemp(dir, ".push-")
		if err != nil {
			return nil, "", cleanup, err
		}
		temporary = append(temporary, unpacked)
		image, err := openArchive(path, unpacked)
		if err != nil {
			return nil, "", cleanup, fmt.Errorf("%s: %w; make it by `make image`", path, err)
		}
		file, err := image.ConfigFile()
		if err != nil {
			return nil, "", cleanup, err
		}
		version = file.Config.Labels["org.opencontainers.image.version"]
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        image,
			Descriptor: v1.Descriptor{MediaType: types.OCIManifestSchema1, Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	return index, version, cleanup, nil
}

// openArchive returns the image in an archive of the OCI layout, which it unpacks into an empty directory: so the
// image keeps its manifest and its digest.
func openArchive(path, dir string) (v1.Image, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := extract(f, dir); err != nil {
		return nil, err
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) != 1 {
		return nil, errors.New("it does not have one image")
	}
	return index.Image(manifest.Manifests[0].Digest)
}
