package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestThePasswordIsMadeOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "password")
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			f := &flags{writerPasswordFile: path, writerPasswordCreate: true}
			if err := f.readPasswords(); err != nil || len(f.WriterPassword) < 26 {
				t.Errorf("the password is %q, %v", f.WriterPassword, err)
			}
			if text, err := os.ReadFile(path); err != nil || string(text) != f.WriterPassword+"\n" {
				t.Errorf("the file has %q, %v", text, err)
			}
		})
	}
	wg.Wait()
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("files are left: %v", left)
	}
}

func TestAPasswordThatOthersMayKnowIsRefused(t *testing.T) {
	dir := t.TempDir()
	open, link := filepath.Join(dir, "open"), filepath.Join(dir, "link")
	if err := os.WriteFile(open, []byte("known\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(open, link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		open: "may be used by others", link: "is no regular file", filepath.Join(dir, "nowhere", "password"): "cannot be created",
	} {
		if err := makePassword(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestPing(t *testing.T) {
	for body, want := range map[string]string{"Ok.\n": "", "welcome": "no ClickHouse"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/ping" {
				t.Errorf("asked for %s", r.URL)
			}
			_, _ = w.Write([]byte(body))
		}))
		defer server.Close()
		err := ping(server.Listener.Addr().String())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", body, err)
		}
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if err := ping(silent.Addr().String()); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Error(err)
	}
}
