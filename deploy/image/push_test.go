package main

import (
	"bytes"
	"io"
	"log"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// TestWhatIsPushedIsWhatWasBuilt pushes to a registry on loopback, and compares digests.
func TestWhatIsPushedIsWhatWasBuilt(t *testing.T) {
	dir := filepath.Dir(archive(t, "kubevoltracker"))
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	if err := push(dir, host+"/team", "v1", &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	for _, k := range kinds {
		ref, err := name.ParseReference(host + "/team/" + k.name + ":v1")
		if err != nil {
			t.Fatal(err)
		}
		index, err := remote.Index(ref)
		if err != nil {
			t.Fatal(err)
		}
		manifest, err := index.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		if len(manifest.Manifests) != len(k.arches) {
			t.Fatalf("%s has %d architectures, want %v", k.name, len(manifest.Manifests), k.arches)
		}
		for i, arch := range k.arches {
			built, err := openArchive(archiveName(dir, k.name, arch), filepath.Join(t.TempDir(), "layout"))
			if err != nil {
				t.Fatal(err)
			}
			want, err := built.Digest()
			if err != nil {
				t.Fatal(err)
			}
			if got := manifest.Manifests[i]; got.Digest != want || got.Platform.Architecture != arch {
				t.Errorf("%s: pushed %s for %s, want %s for %s", k.name, got.Digest, got.Platform, want, arch)
			}
		}
	}
}
