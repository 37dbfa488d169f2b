package app

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"

	"github.com/kubevoltracker/kubevoltracker/collector"
)

// TestKubeletsOutsideACluster has a kubeconfig that does not verify its API server. Kubelets are asked only if somebody
// wants it, and then not with what the kubeconfig accepts.
func TestKubeletsOutsideACluster(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte(`{"apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
		"clusters": [{"name": "c", "cluster": {"server": "https://10.0.0.1:6443", "insecure-skip-tls-verify": true}}], "users": [{"name": "u", "user": {"token": "mighty"}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := collector.NewClient(collector.ClientOptions{Kubeconfig: path})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		options             collector.KubeletOptions
		asked               bool
		logged, wantInError string
	}{
		"by default":              {collector.KubeletOptions{Interval: time.Minute, OnlyInCluster: true}, false, "--kubelet.interval=1m0s", ""},
		"never":                   {collector.KubeletOptions{}, false, "", ""},
		"on demand":               {collector.KubeletOptions{Interval: time.Minute}, false, "", "--kubelet.certificate-authority: name"},
		"on demand, at any price": {collector.KubeletOptions{Interval: time.Minute, InsecureTLS: true}, true, "", ""},
		"a mistake, by default":   {collector.KubeletOptions{Interval: time.Minute, OnlyInCluster: true, Port: -1}, false, "", "--kubelet.port"},
	} {
		t.Run(name, func(t *testing.T) {
			var logged bytes.Buffer
			kubelets, err := openKubelets(client, test.options, log.NewLogfmtLogger(&logged))
			if (kubelets != nil) != test.asked {
				t.Errorf("asked: %v", kubelets != nil)
			}
			if !strings.Contains(logged.String(), test.logged) || (logged.Len() > 0) != (test.logged != "") {
				t.Errorf("logged %q, want %q", logged.String(), test.logged)
			}
			if (err != nil) != (test.wantInError != "") || err != nil && (!strings.HasPrefix(err.Error(), test.wantInError) || !errors.As(err, new(UsageError))) {
				t.Errorf("got %v, want %q", err, test.wantInError)
			}
		})
	}
}
