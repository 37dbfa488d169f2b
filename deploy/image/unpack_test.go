package main

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestNoEntryGetsOutOfTheDirectory unpacks archives whose entries lead elsewhere.
func TestNoEntryGetsOutOfTheDirectory(t *testing.T) {
	for name, headers := range map[string][]tar.Header{
		"by dots":   {{Typeflag: tar.TypeReg, Name: "../stolen", Mode: 0o644}},
		"by a link": {{Typeflag: tar.TypeSymlink, Name: "l", Linkname: ".."}, {Typeflag: tar.TypeReg, Name: "l/stolen", Mode: 0o644}},
	} {
		t.Run(name, func(t *testing.T) {
			var text bytes.Buffer
			w := tar.NewWriter(&text)
			for _, h := range headers {
				if err := w.WriteHeader(&h); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			outside := t.TempDir()
			if err := extract(&text, filepath.Join(outside, "inside")); err == nil {
				t.Error("it was unpacked")
			}
			if _, err := os.Lstat(filepath.Join(outside, "stolen")); err == nil {
				t.Error("it got out")
			}
		})
	}
}
