package collector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-kit/log"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// clientOf is a client of an API server that a test plays.
func clientOf(t *testing.T, serve http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	config := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c"}}],
		"clusters": [{"name": "c", "cluster": {"server": %q}}]}`, server.URL)
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := NewClient(ClientOptions{Kubeconfig: path})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// answer answers as an API server does.
func answer(w http.ResponseWriter, code int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprint(w, body)
}

const (
	noKubeSystem = `{"kind": "NamespaceList", "apiVersion": "v1", "items": []}`
	kubeSystem   = `{"kind": "NamespaceList", "apiVersion": "v1", "items": [{"metadata": {"name": "kube-system", "uid": "the-uid"}}]}`
)

// TestCurrentVersion asks for the version of the API server by a list of one object of a kind.
func TestCurrentVersion(t *testing.T) {
	client := clientOf(t, func(w http.ResponseWriter, r *http.Request) {
		if want := "/api/v1/persistentvolumes?limit=1"; r.URL.String() != want {
			t.Errorf("it asked for %s, not %s", r.URL, want)
		}
		answer(w, http.StatusOK, `{"kind": "PersistentVolumeList", "apiVersion": "v1", "metadata": {"resourceVersion": "120"}, "items": []}`)
	})
	if got, err := client.CurrentVersion(t.Context(), fact.Volumes); got != 120 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
	if got, err := client.CurrentVersion(t.Context(), "Secret"); got != 0 || err == nil {
		t.Errorf("of a kind that is not watched: %d, %v", got, err)
	}
}

// TestAYoungClusterIsWaitedFor checks that a cluster without kube-system is asked again, and
// that this is logged once.
func TestAYoungClusterIsWaitedFor(t *testing.T) {
	var asked atomic.Int32
	client := clientOf(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < 3 {
			answer(w, http.StatusOK, noKubeSystem)
		} else {
			answer(w, http.StatusOK, kubeSystem)
		}
	})
	var logged bytes.Buffer
	uid, err := client.Connect(t.Context(), "", log.NewLogfmtLogger(&logged))
	if uid != "the-uid" || err != nil || asked.Load() != 3 {
		t.Errorf("%q, %v after %d questions", uid, err, asked.Load())
	}
	if lines := strings.Count(logged.String(), "\n"); lines != 1 || !strings.Contains(logged.String(), "kube-system") {
		t.Errorf("logged %q", logged.String())
	}
}

// TestARightIsWaitedFor checks that a tracker that may not list namespaces says so once and asks again, unless the cluster has
// a name.
func TestARightIsWaitedFor(t *testing.T) {
	var asked atomic.Int32
	client := clientOf(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < 3 {
			answer(w, http.StatusForbidden, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403}`)
		} else {
			answer(w, http.StatusOK, kubeSystem)
		}
	})
	var logged bytes.Buffer
	name, err := client.Connect(t.Context(), "given", log.NewLogfmtLogger(&logged))
	if name != "given" || err != nil || logged.Len() > 0 || asked.Load() != 1 {
		t.Errorf("with a name: %q, %v, %q after %d questions", name, err, logged.String(), asked.Load())
	}
	asked.Store(0)
	name, err = client.Connect(t.Context(), "", log.NewLogfmtLogger(&logged))
	if name != "the-uid" || err != nil || asked.Load() != 3 {
		t.Errorf("%q, %v after %d questions", name, err, asked.Load())
	}
	if lines := strings.Count(logged.String(), "\n"); lines != 1 || !strings.Contains(logged.String(), "--cluster.name") {
		t.Errorf("logged %q", logged.String())
	}
}

func TestTheWaitForAYoungClusterCanBeEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	client := clientOf(t, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, noKubeSystem)
		time.AfterFunc(10*time.Millisecond, cancel)
	})
	if _, err := client.Connect(ctx, "", log.NewNopLogger()); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

// TestOtherErrorsAreNotWaitedFor checks that a mistake is an error at once.
func TestOtherErrorsAreNotWaitedFor(t *testing.T) {
	for name, test := range map[string]struct {
		code int
		body string
		want string
	}{
		"no API server at all": {404, "<html>nothing here</html>", "could not find the requested resource"},
		"bad credentials":      {401, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Unauthorized", "code": 401}`, "does not accept the credentials"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := atomic.Int32{}
			client := clientOf(t, func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				answer(w, test.code, test.body)
			})
			_, err := client.Connect(t.Context(), "", log.NewNopLogger())
			if err == nil || !strings.Contains(err.Error(), test.want) || asked.Load() != 1 {
				t.Errorf("%v after %d questions", err, asked.Load())
			}
		})
	}
}
