package main

import (
	"os"
	"strings"
	"testing"
)

// TestTheLibraryIsPinnedAlikeEverywhere compares the image's pins with those of the script that fetches the library,
// and of the package that loads it.
func TestTheLibraryIsPinnedAlikeEverywhere(t *testing.T) {
	for file, want := range map[string]string{
		"../fetch-libchdb.sh":                    "\nversion=" + libraryVersion + "\n",
		"../../catalog/embedded/library.go":      `const LibraryVersion = "` + libraryVersion + `"`,
		"../../catalog/embedded/library_file.go": `"linux/amd64": "` + librarySHA256 + `"`,
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), want) {
			t.Errorf("%s does not have %q, as pins.go has", file, want)
		}
	}
}
