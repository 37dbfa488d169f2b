package collector

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// KubeletServiceAccount is the service account in deploy/rbac.yaml whose tokens kubelets receive. It
// may only read the statistics of nodes.
const KubeletServiceAccount = "kubevoltracker-kubelets"

// The life of such a token: ten minutes are the shortest that the API server gives. Half of them
// are left for a request.
const (
	tokenLife  = 10 * time.Minute
	tokenReuse = tokenLife / 2
)

// headerBytes bounds the headers of a kubelet's answer; net/http would take 10 MB.
const headerBytes = 16 << 10

// kubeletTransport makes the connections to kubelets. It inherits from the configuration of the API
// server's client only the authority and the client certificate, whose key stays here. It does not
// inherit insecure-skip-tls-verify, tokens, passwords, plugins for credentials, nor a proxy.
type kubeletTransport struct {
	tls       rest.TLSClientConfig
	token     func(context.Context) (string, error) // nil if there is a client certificate
	rules     *addresses
	userAgent string
}

// newKubeletTransport checks the options. Its error names the flag.
func (c *Client) newKubeletTransport(o *KubeletOptions, rules *addresses) (*kubeletTransport, error) {
	t := &kubeletTransport{rules: rules, userAgent: c.config.UserAgent}
	switch {
	case o.InsecureTLS:
		t.tls.Insecure = true
	case o.CertificateAuthority != "":
		t.tls.CAFile = o.CertificateAuthority
	case c.config.CAFile == "" && len(c.config.CAData) == 0:
		return nil, errors.New("--kubelet.certificate-authority: name the authority of the kubelets' certificates, as the kubeconfig has none for the API server; or accept any certificate by --kubelet.insecure-tls; or ask no kubelets by --kubelet.interval=0s")
	default:
		t.tls.CAFile, t.tls.CAData = c.config.CAFile, c.config.CAData
	}
	own := c.config.TLSClientConfig
	switch {
	case o.TokenFile != "":
		t.token = fileToken(o.TokenFile)
		if _, err := t.token(context.Background()); err != nil {
			return nil, err
		}
	case o.ServiceAccount == "" && (own.CertFile != "" || len(own.CertData) > 0):
		t.tls.CertFile, t.tls.CertData, t.tls.KeyFile, t.tls.KeyData = own.CertFile, own.CertData, own.KeyFile, own.KeyData
	default:
		account, err := c.serviceAccountTokens(o)
		if err != nil {
			return nil, err
		}
		t.token = account.token
	}
	if _, err := rest.TLSConfigFor(&rest.Config{TLSClientConfig: t.tls}); err != nil {
		return nil, fmt.Errorf("--kubelet.certificate-authority: %w", err)
	}
	return t, nil
}

// kubeletClient asks kubelets for one turn: the files of the authority, the client certificate and
// the token are read for each turn, as others renew them.
type kubeletClient struct {
	http             *http.Client
	token, userAgent string
}

func (t *kubeletTransport) connect(ctx context.Context) (*kubeletClient, error) {
	config, err := rest.TLSConfigFor(&rest.Config{TLSClientConfig: t.tls})
	if err != nil {
		return nil, fmt.Errorf("--kubelet.certificate-authority: %w", err)
	}
	client := &kubeletClient{http: newKubeletHTTP(config, t.rules), userAgent: t.userAgent}
	if t.token != nil {
		client.token, err = t.token(ctx)
	}
	return client, err
}

// newKubeletHTTP returns a client that sends nothing to anyone but the kubelet itself: through no
// proxy, so that one in the environment gets no requests, and along no redirect. It keeps no
// connections for the next turn, minutes later. It asks for no compression, because a small
// compressed answer could be of any size.
func newKubeletHTTP(config *tls.Config, rules *addresses) *http.Client {
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: rules.control}
	return &http.Client{
		Transport: &http.Transport{
			Proxy: nil, DialContext: dialer.DialContext, TLSClientConfig: config, TLSHandshakeTimeout: 10 * time.Second,
			DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: headerBytes,
		},
		CheckRedirect: func(r *http.Request, _ []*http.Request) error {
			return fmt.Errorf("it redirects to %.100s://%.100s, and redirects of kubelets are not followed", r.URL.Scheme, r.URL.Host)
		},
	}
}

// get requests the summary of the kubelet at an address, host:port. The caller closes the body.
func (c *kubeletClient) get(ctx context.Context, address string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/stats/summary", nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", c.userAgent)
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(r)
	var failed *url.Error
	if errors.As(err, &failed) {
		return nil, failed.Err // without the URL, which may be a redirect's
	}
	return response, err
}

// fileToken returns the function that reads a token from a file.
func fileToken(path string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) {
		text, err := os.ReadFile(path)
		token := strings.TrimSpace(string(text))
		switch {
		case err != nil:
			return "", fmt.Errorf("--kubelet.token-file: %w", err)
		case token == "" || strings.ContainsAny(token, " \r\n"):
			return "", fmt.Errorf("--kubelet.token-file: %s has no token", path)
		}
		return token, nil
	}
}

// serviceAccountTokens requests short-lived tokens of a service account (the TokenRequest API).
//
// The tokens have the audience of the API server. A kubelet accepts no other: it has the API server
// review a token without naming audiences, and the review is then for the API server's own. Other
// than by its audience, a token is restricted by the rights of its service account.
type serviceAccountTokens struct {
	accounts        typedcore.ServiceAccountInterface
	namespace, name string

	mu   sync.Mutex
	last string
	at   time.Time // when last was requested
}

func (c *Client) serviceAccountTokens(o *KubeletOptions) (*serviceAccountTokens, error) {
	t := &serviceAccountTokens{namespace: o.Namespace, name: KubeletServiceAccount}
	if o.ServiceAccount != "" {
		t.name = o.ServiceAccount
		if namespace, name, ok := strings.Cut(o.ServiceAccount, "/"); ok {
			t.namespace, t.name = namespace, name
		}
	}
	if len(validation.IsDNS1123Label(t.namespace)) > 0 || len(validation.IsDNS1123Subdomain(t.name)) > 0 {
		return nil, fmt.Errorf("--kubelet.service-account: %q is no name of a service account, NAME or NAMESPACE/NAME", o.ServiceAccount)
	}
	t.accounts = c.core.ServiceAccounts(t.namespace)
	return t, nil
}

// token returns a token that lives for some minutes.
func (t *serviceAccountTokens) token(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last != "" && time.Since(t.at) < tokenReuse {
		return t.last, nil
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	life, now := int64(tokenLife/time.Second), time.Now()
	answer, err := t.accounts.CreateToken(ctx, t.name, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &life},
	}, metav1.CreateOptions{})
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		err = fmt.Errorf("%w: make and grant it, %s, or name another by --kubelet.service-account or --kubelet.token-file", err, asGranted)
	}
	if err != nil {
		return "", fmt.Errorf("a token of the service account %s/%s for the kubelets: %w", t.namespace, t.name, err)
	}
	t.last, t.at = answer.Status.Token, now
	return t.last, nil
}
