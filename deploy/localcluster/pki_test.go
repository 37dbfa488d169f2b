package main

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

func TestServerAndClientTrustEachOther(t *testing.T) {
	p := pki{t.TempDir()}
	if err := p.create(); err != nil {
		t.Fatal(err)
	}
	for _, circle := range []struct{ ca, server, client, user string }{
		{"ca", "server", "admin", adminUser},
		{"ca", "server", kwokController, kwokUser},
		{"etcd-ca", "etcd", "etcd-client", kubeAPIServer},
	} {
		t.Run(circle.client, func(t *testing.T) {
			if got := handshake(t, p, circle.ca, circle.server, circle.client); got != circle.user {
				t.Errorf("the server sees user %q, want %q", got, circle.user)
			}
		})
	}
	t.Run("etcd refuses the cluster's admin", func(t *testing.T) {
		if got := handshake(t, p, "etcd-ca", "etcd", "admin"); got != "" {
			t.Errorf("etcd let %q in", got)
		}
	})
}

func TestCertificatesOfAResumedClusterStay(t *testing.T) {
	p := pki{t.TempDir()}
	read := func() map[string]string {
		if err := p.create(); err != nil {
			t.Fatal(err)
		}
		files, _ := filepath.Glob(p.path("*"))
		contents := map[string]string{}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			contents[file] = string(data)
		}
		return contents
	}
	before, after := read(), read()
	if len(before) < 20 {
		t.Fatalf("only %d files", len(before))
	}
	for file, content := range before {
		if after[file] != content {
			t.Errorf("%s was made anew", file)
		}
	}
}

func TestKubeconfigStandsAlone(t *testing.T) {
	p := pki{t.TempDir()}
	if err := p.create(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := p.kubeconfig(path, "admin", "https://127.0.0.1:1"); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "https://127.0.0.1:1" || len(config.CAData) == 0 || len(config.CertData) == 0 || len(config.KeyData) == 0 {
		t.Errorf("incomplete: %+v", config)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("credentials are readable by others: %v %v", info.Mode(), err)
	}
}

// handshake returns the name by which the server knows the client, "" if it refuses it.
func handshake(t *testing.T, p pki, ca, server, client string) string {
	t.Helper()
	pem, err := os.ReadFile(p.path(ca + ".crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	pair := func(name string) []tls.Certificate {
		c, err := tls.LoadX509KeyPair(p.path(name+".crt"), p.path(name+".key"))
		if err != nil {
			t.Fatal(err)
		}
		return []tls.Certificate{c}
	}

	near, far := net.Pipe()
	serving := tls.Server(far, &tls.Config{Certificates: pair(server), ClientCAs: roots, ClientAuth: tls.RequireAndVerifyClientCert})
	go func() {
		c := tls.Client(near, &tls.Config{Certificates: pair(client), RootCAs: roots, ServerName: "127.0.0.1"})
		_ = c.Handshake()
		_, _ = io.Copy(io.Discard, c)
	}()
	defer near.Close()
	if err := serving.Handshake(); err != nil {
		return ""
	}
	return serving.ConnectionState().PeerCertificates[0].Subject.CommonName
}
