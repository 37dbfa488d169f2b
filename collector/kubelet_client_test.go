package collector

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestRedirectsAreNotFollowed has a kubelet send the tracker elsewhere. Nobody there is asked, and nobody gets a token.
func TestRedirectsAreNotFollowed(t *testing.T) {
	thief := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("asked elsewhere, with %v", r.Header) })
	plain := httptest.NewServer(thief)
	defer plain.Close()
	encrypted := serveKubelet(t, thief)
	for name, test := range map[string]struct {
		location, want string
		code           int
	}{
		"to plain HTTP":        {plain.URL + "/stats/summary", "it redirects to " + plain.URL + ", and redirects of kubelets are not followed", 302},
		"to another host":      {encrypted.URL, "it redirects to " + encrypted.URL, 307},
		"to a path of its":     {"/another", "it redirects to https://127.0.0.1", 308},
		"without saying where": {"", "302 Found", 302},
	} {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int32
			said := asked(serveKubelet(t, func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				if test.location != "" {
					w.Header().Set("Location", test.location)
				}
				w.WriteHeader(test.code)
			})).read(t.Context(), n1, believe)
			if len(said.errs) != 1 || !strings.HasPrefix(said.errs[0].Error(), "the kubelet of node n1: "+test.want) || requests.Load() != 1 {
				t.Errorf("after %d requests: %v; want %s", requests.Load(), said.errs, test.want)
			}
		})
	}
}

// TestKubeletsAreAskedDirectly: a proxy in the environment would get requests, and for plain HTTP the token.
func TestKubeletsAreAskedDirectly(t *testing.T) {
	transport, ok := newKubeletHTTP(&tls.Config{}, &addresses{}).Transport.(*http.Transport)
	if !ok || transport.Proxy != nil {
		t.Error("a proxy can be between the tracker and the kubelets")
	}
}

func TestAKubeletOfAnUnknownAuthority(t *testing.T) {
	server := serveKubelet(t, func(http.ResponseWriter, *http.Request) { t.Error("it is asked") })
	k := asked(server)
	k.transport.tls.CAData, _ = certificate(t)
	said := k.read(t.Context(), n1, believe)
	if len(said.errs) != 1 || !strings.Contains(said.errs[0].Error(), "--kubelet.certificate-authority") {
		t.Errorf("no cure in %v", said.errs)
	}
}

// TestACertificateOfAnotherAddress has a node with a certificate of the right authority answer for another address, as
// one that has forged the address in its Node.
func TestACertificateOfAnotherAddress(t *testing.T) {
	server := serveKubelet(t, func(http.ResponseWriter, *http.Request) { t.Error("it is asked") })
	k := asked(server)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	k.addresses["n1"] = "127.0.0.2:" + port
	said := k.read(t.Context(), n1, believe)
	if len(said.errs) != 1 || !strings.Contains(said.errs[0].Error(), "127.0.0.2") {
		t.Errorf("got %v", said.errs)
	}
}

// certificate returns a certificate of its own, and its key.
func certificate(t *testing.T) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text})
}

// played is a cluster of one node, whose API server and kubelet a test plays.
type played struct {
	kubelet *httptest.Server
	api     *httptest.Server
	port    int

	mu       sync.Mutex
	received []string // what kubelets received: the header Authorization, and whether there was a client certificate
	requests []string // tokens that were requested
	refuse   int      // the status of requests for tokens; 0 for tokens
}

func play(t *testing.T) *played {
	t.Helper()
	p := &played{}
	p.kubelet = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.received = append(p.received, fmt.Sprintf("%s|%d", r.Header.Get("Authorization"), len(r.TLS.PeerCertificates)))
		p.mu.Unlock()
		_, _ = io.WriteString(w, kubeletSummary)
	}))
	p.kubelet.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	p.kubelet.Config.ErrorLog = log.New(io.Discard, "", 0)
	p.kubelet.StartTLS()
	t.Cleanup(p.kubelet.Close)
	_, port, _ := net.SplitHostPort(p.kubelet.Listener.Addr().String())
	p.port, _ = strconv.Atoi(port)
	p.api = serveKubelet(t, p.serveAPI)
	return p
}

func (p *played) serveAPI(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch account, isToken := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/"), "/token"); {
	case isToken && p.refuse != 0:
		answer(w, p.refuse, fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"message":"no"}`, p.refuse))
	case isToken:
		p.requests = append(p.requests, strings.Replace(account, "/serviceaccounts/", "/", 1))
		text, _ := json.Marshal(&authenticationv1.TokenRequest{
			TypeMeta: metav1.TypeMeta{Kind: "TokenRequest", APIVersion: "authentication.k8s.io/v1"},
			Status:   authenticationv1.TokenRequestStatus{Token: fmt.Sprint("short-", len(p.requests)), ExpirationTimestamp: metav1.NewTime(time.Now().Add(tokenLife))},
		})
		answer(w, http.StatusCreated, string(text))
	default:
		o := node(1, "InternalIP=127.0.0.1")
		text, _ := json.Marshal(&corev1.NodeList{TypeMeta: metav1.TypeMeta{Kind: "NodeList", APIVersion: "v1"}, Items: []corev1.Node{*o}})
		answer(w, http.StatusOK, string(text))
	}
}

// client returns the client of a kubeconfig with these parts of a cluster and of a user.
func (p *played) client(t *testing.T, cluster, user map[string]any) *Client {
	t.Helper()
	cluster["server"] = p.api.URL
	text, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": []any{map[string]any{"name": "c", "context": map[string]any{"cluster": "c", "user": "u"}}},
		"clusters": []any{map[string]any{"name": "c", "cluster": cluster}}, "users": []any{map[string]any{"name": "u", "user": user}},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := NewClient(ClientOptions{Kubeconfig: path})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// authority is the part of a kubeconfig's cluster that has the authority of the kubelet's certificate.
func (p *played) authority() map[string]any {
	return map[string]any{"certificate-authority-data": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.kubelet.Certificate().Raw})}
}

// TestWhatAKubeletReceives has all kinds of credentials in a kubeconfig. Of those a kubelet receives only proof of the
// client certificate.
func TestWhatAKubeletReceives(t *testing.T) {
	cert, key := certificate(t)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("from-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	certified := map[string]any{"client-certificate-data": cert, "client-key-data": key}
	for name, test := range map[string]struct {
		user     map[string]any
		options  KubeletOptions
		received string
		request  string
	}{
		"instead of a token":       {map[string]any{"token": "mighty"}, KubeletOptions{}, "Bearer short-1|0", "kubevoltracker/kubevoltracker-kubelets"},
		"instead of a token file":  {map[string]any{"tokenFile": file}, KubeletOptions{}, "Bearer short-1|0", "kubevoltracker/kubevoltracker-kubelets"},
		"instead of a password":    {map[string]any{"username": "root", "password": "mighty"}, KubeletOptions{}, "Bearer short-1|0", "kubevoltracker/kubevoltracker-kubelets"},
		"instead of nothing":       {map[string]any{}, KubeletOptions{}, "Bearer short-1|0", "kubevoltracker/kubevoltracker-kubelets"},
		"of a client certificate":  {certified, KubeletOptions{}, "|1", ""},
		"of a service account":     {certified, KubeletOptions{ServiceAccount: "another"}, "Bearer short-1|0", "kubevoltracker/another"},
		"of another namespace's":   {map[string]any{"token": "mighty"}, KubeletOptions{ServiceAccount: "kube-system/stats"}, "Bearer short-1|0", "kube-system/stats"},
		"of a file":                {certified, KubeletOptions{TokenFile: file}, "Bearer from-a-file|0", ""},
		"of a file, not the token": {map[string]any{"token": "mighty"}, KubeletOptions{TokenFile: file}, "Bearer from-a-file|0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := play(t)
			test.options.Port, test.options.Namespace = p.port, "kubevoltracker"
			k, err := p.client(t, p.authority(), test.user).Kubelets(test.options)
			if err != nil {
				t.Fatal(err)
			}
			if said := k.read(t.Context(), n1, believe); len(said.errs) > 0 || len(said.samples) == 0 {
				t.Errorf("got %+v", said)
			}
			if got := strings.Join(p.received, " "); got != test.received {
				t.Errorf("the kubelet received %q, want %q", got, test.received)
			}
			if got := strings.Join(p.requests, " "); got != test.request {
				t.Errorf("tokens were requested of %q, want %q", got, test.request)
			}
		})
	}
}

// TestAKubeconfigThatVerifiesNothing: what somebody accepts of an API server holds for no kubelet. A kubelet's certificate
// is verified by a named authority, and not by those that the machine trusts.
func TestAKubeconfigThatVerifiesNothing(t *testing.T) {
	for name, cluster := range map[string]map[string]any{
		"insecure-skip-tls-verify": {"insecure-skip-tls-verify": true},
		"no authority":             {},
	} {
		t.Run(name, func(t *testing.T) {
			p := play(t)
			client := p.client(t, cluster, map[string]any{"token": "mighty"})
			if _, err := client.Kubelets(KubeletOptions{}); err == nil || !strings.HasPrefix(err.Error(), "--kubelet.certificate-authority: ") || !strings.Contains(err.Error(), "--kubelet.insecure-tls") {
				t.Errorf("got %v", err)
			}
			file := func(text []byte) string {
				path := filepath.Join(t.TempDir(), "file")
				if err := os.WriteFile(path, text, 0o600); err != nil {
					t.Fatal(err)
				}
				return path
			}
			token := file([]byte("short"))
			read := func(o KubeletOptions) []error {
				o.TokenFile = token
				k, err := client.Kubelets(o)
				if err != nil {
					t.Fatal(err)
				}
				k.addresses["n1"] = p.kubelet.Listener.Addr().String()
				return k.read(t.Context(), n1, believe).errs
			}
			if errs := read(KubeletOptions{InsecureTLS: true}); len(errs) > 0 {
				t.Error(errs)
			}
			other, _ := certificate(t)
			if errs := read(KubeletOptions{CertificateAuthority: file(other)}); len(errs) != 1 || !strings.Contains(errs[0].Error(), "x509") {
				t.Errorf("got %v", errs)
			}
			if len(p.received) != 1 {
				t.Errorf("the kubelet was asked %d times, want once, by --kubelet.insecure-tls", len(p.received))
			}
		})
	}
}

// TestAnAuthorityThatIsRenewed reads the file in each turn, and does without kubelets while there is nothing in it.
func TestAnAuthorityThatIsRenewed(t *testing.T) {
	p, path := play(t), filepath.Join(t.TempDir(), "ca.crt")
	right, _ := p.authority()["certificate-authority-data"].([]byte)
	wrong, _ := certificate(t)
	client := p.client(t, map[string]any{"insecure-skip-tls-verify": true}, map[string]any{"token": "mighty"})
	var k *Kubelets
	for i, test := range []struct {
		text []byte
		want string
	}{{right, ""}, {wrong, "x509"}, {nil, "--kubelet.certificate-authority"}, {right, ""}} {
		if err := os.WriteFile(path, test.text, 0o600); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			var err error
			if k, err = client.Kubelets(KubeletOptions{CertificateAuthority: path, Port: p.port, Namespace: "kubevoltracker"}); err != nil {
				t.Fatal(err)
			}
		}
		errs := k.read(t.Context(), n1, believe).errs
		if (len(errs) > 0) != (test.want != "") || len(errs) > 0 && !strings.Contains(errs[0].Error(), test.want) {
			t.Errorf("got %v, want %q", errs, test.want)
		}
	}
}

func TestTokensOfAServiceAccount(t *testing.T) {
	p := play(t)
	client := p.client(t, p.authority(), map[string]any{"token": "mighty"})
	tokens, err := client.serviceAccountTokens(&KubeletOptions{Namespace: "kubevoltracker"})
	if err != nil {
		t.Fatal(err)
	}
	expect := func(want string) {
		t.Helper()
		if got, err := tokens.token(t.Context()); got != want || err != nil {
			t.Errorf("got %q, %v; want %s", got, err, want)
		}
	}
	expect("short-1")
	expect("short-1")
	tokens.at = time.Now().Add(-tokenReuse)
	expect("short-2")

	for _, code := range []int{http.StatusForbidden, http.StatusInternalServerError} {
		p.refuse = code
		k, err := client.Kubelets(KubeletOptions{Port: p.port, Namespace: "kubevoltracker"})
		if err != nil {
			t.Fatal(err)
		}
		said := k.read(t.Context(), n1, believe)
		if len(said.errs) != 1 || !strings.HasPrefix(said.errs[0].Error(), "a token of the service account kubevoltracker/kubevoltracker-kubelets for the kubelets: ") {
			t.Errorf("got %v", said.errs)
		}
		if cure := strings.Contains(said.errs[0].Error(), "--kubelet.token-file"); cure != (code == http.StatusForbidden) {
			t.Errorf("got %v", said.errs)
		}
	}
	if len(p.received) > 0 {
		t.Errorf("a kubelet was asked, with %v", p.received)
	}
}

// TestATokenFileIsReadAgain, as projected tokens are renewed.
func TestATokenFileIsReadAgain(t *testing.T) {
	p, file := play(t), filepath.Join(t.TempDir(), "token")
	var k *Kubelets
	for turn, test := range []struct{ text, received, want string }{
		{"first", "Bearer first|0", ""}, {"second\n", "Bearer second|0", ""}, {"", "", "has no token"}, {"a\r\nX-Header: b", "", "has no token"},
	} {
		if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if turn == 0 {
			var err error
			if k, err = p.client(t, p.authority(), map[string]any{}).Kubelets(KubeletOptions{TokenFile: file, Port: p.port}); err != nil {
				t.Fatal(err)
			}
		}
		p.received = nil
		said := k.read(t.Context(), n1, believe)
		if got := strings.Join(p.received, " "); got != test.received {
			t.Errorf("the kubelet received %q, want %q", got, test.received)
		}
		if (len(said.errs) > 0) != (test.want != "") || len(said.errs) > 0 && !strings.Contains(said.errs[0].Error(), test.want) {
			t.Errorf("got %v, want %q", said.errs, test.want)
		}
	}
}

func TestKubeletOptions(t *testing.T) {
	p := play(t)
	client := p.client(t, p.authority(), map[string]any{})
	for want, o := range map[string]KubeletOptions{
		"--kubelet.port": {Port: -1},
		"--kubelet.insecure-tls: no certificate is looked at":  {InsecureTLS: true, CertificateAuthority: "x"},
		"--kubelet.token-file: it has the token":               {TokenFile: "x", ServiceAccount: "x"},
		"--kubelet.token-file: open /nowhere":                  {TokenFile: "/nowhere"},
		"--kubelet.certificate-authority: ":                    {CertificateAuthority: "/nowhere"},
		`--kubelet.service-account: "a/b/c" is no name`:        {ServiceAccount: "a/b/c"},
		`--kubelet.service-account: "../secrets/x" is no name`: {ServiceAccount: "../secrets/x"},
	} {
		if o.Namespace = "kubevoltracker"; o.ServiceAccount == "" {
			o.Namespace = "n"
		}
		if _, err := client.Kubelets(o); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if client.InCluster() {
		t.Error("a kubeconfig is no service account")
	}
}
