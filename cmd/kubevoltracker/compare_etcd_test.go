package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes/scheme"
)

// benchEtcd writes pods into the API server's etcd, by its JSON gateway. An API server that
// shares two cores with all else takes some hundred writes a second, for what admission,
// field management and the encodings cost; one that a large cluster has is told by etcd of
// what the others take, too. To a watch that is the same.
type benchEtcd struct {
	client *http.Client
	url    string
	codec  runtime.Encoder
}

func newBenchEtcd(t testing.TB, dir string) *benchEtcd {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "pki", "etcd-client.crt"), filepath.Join(dir, "pki", "etcd-client.key"))
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(filepath.Join(dir, "pki", "etcd-ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	pid, err := os.ReadFile(filepath.Join(dir, "run", "etcd.pid"))
	if err != nil {
		t.Fatal(err)
	}
	command, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	e := &benchEtcd{
		client: &http.Client{Transport: &http.Transport{
			TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool}, MaxIdleConnsPerHost: benchWriters,
		}},
		codec: scheme.Codecs.EncoderForVersion(protobuf.NewSerializer(scheme.Scheme, scheme.Scheme), corev1.SchemeGroupVersion),
	}
	for arg := range strings.SplitSeq(string(command), "\x00") {
		if url, ok := strings.CutPrefix(arg, "--advertise-client-urls="); ok {
			e.url = url
		}
	}
	return e
}

func (e *benchEtcd) ask(path string, question map[string][]byte) error {
	body, err := json.Marshal(question) // bytes as base64, as the gateway wants them
	if err != nil {
		return err
	}
	r, err := e.client.Post(e.url+path, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer r.Body.Close()
	answer, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode != http.StatusOK {
		err = fmt.Errorf("etcd: %s: %s", r.Status, answer)
	}
	return err
}

func podKey(p *corev1.Pod) []byte { return []byte("/registry/pods/" + p.Namespace + "/" + p.Name) }

func (e *benchEtcd) put(p *corev1.Pod) error {
	p.ResourceVersion = ""
	var value bytes.Buffer
	if err := e.codec.Encode(p, &value); err != nil {
		return err
	}
	return e.ask("/v3/kv/put", map[string][]byte{"key": podKey(p), "value": value.Bytes()})
}

// changes ends n pods, and starts new ones of their names: the first write makes the pod,
// the second has it run.
func (e *benchEtcd) changes(c *benchCluster, n int) changes {
	return changes{
		pods: n,
		end: func(i int, sent func()) error {
			sent()
			return e.ask("/v3/kv/deleterange", map[string][]byte{"key": podKey(c.pods[i])})
		},
		prepare: func(i int) error {
			p := c.pods[i]
			p.UID, p.CreationTimestamp = uuid.NewUUID(), metav1.Now().Rfc3339Copy()
			p.Status = corev1.PodStatus{Phase: corev1.PodPending}
			return e.put(p)
		},
		start: func(i int, sent func()) error {
			c.pods[i].Status = benchPodStatus(i, time.Now())
			sent()
			return e.put(c.pods[i])
		},
	}
}
