package collector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	typedapps "k8s.io/client-go/kubernetes/typed/apps/v1"
	typedcoordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	typedstorage "k8s.io/client-go/kubernetes/typed/storage/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubevoltracker/kubevoltracker/collector/skim"
)

// ClientOptions say which API server to watch, and as whom.
type ClientOptions struct {
	// Kubeconfig is a file. If it is empty, the client uses $KUBECONFIG or ~/.kube/config, or,
	// inside a cluster, the pod's service account.
	Kubeconfig string
	// Context is a context of that file. If it is empty, the client uses the file's current
	// context.
	Context   string
	UserAgent string
}

// Client talks to the API server.
type Client struct {
	core      *typedcore.CoreV1Client
	pods      *rest.RESTClient // of core, with a decoder that skims pods
	storage   *typedstorage.StorageV1Client
	apps      *typedapps.AppsV1Client
	metadata  metadata.Interface
	leases    *typedcoordination.CoordinationV1Client
	config    *rest.Config
	inCluster bool
}

// ErrNotConfigured is the error of NewClient if the kubeconfig is missing or empty.
var ErrNotConfigured = errors.New("no cluster is configured")

// NewClient reads the configuration and does not connect. Its error is one line that names the
// mistake in the configuration.
func NewClient(o ClientOptions) (*Client, error) {
	config, inCluster, err := restConfig(o)
	if err != nil {
		return nil, err
	}
	config.UserAgent = o.UserAgent
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	config.QPS = -1 // no client-side limit: there is one watch per kind, and the API server has its own fairness limits
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	core, err := typedcore.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	pods, err := podClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	storage, err := typedstorage.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	apps, err := typedapps.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	metadataClient, err := metadata.NewForConfigAndClient(metadata.ConfigFor(config), httpClient)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	// Requests for leases have a timeout, so that the election can retry instead of waiting
	// forever.
	impatient := rest.CopyConfig(config)
	impatient.Timeout = leaseTimeout
	leases, err := typedcoordination.NewForConfig(impatient)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return &Client{core: core, pods: pods, storage: storage, apps: apps, metadata: metadataClient, leases: leases, config: config, inCluster: inCluster}, nil
}

// podClient returns a client of the core API for reading pods.
func podClient(config *rest.Config, httpClient *http.Client) (*rest.RESTClient, error) {
	c := rest.CopyConfig(config)
	c.GroupVersion, c.APIPath = &corev1.SchemeGroupVersion, "/api"
	c.NegotiatedSerializer = skim.Pods(rest.CodecFactoryForGeneratedClient(scheme.Scheme, scheme.Codecs).WithoutConversion())
	return rest.RESTClientForConfigAndClient(c, httpClient)
}

// leaseTimeout bounds one request for a lease.
const leaseTimeout = 4 * time.Second

// Leases returns the client for leases, whose requests end after leaseTimeout.
func (c *Client) Leases() typedcoordination.LeasesGetter { return c.leases }

// restConfig also reports whether the configuration is that of a pod's service account.
func restConfig(o ClientOptions) (_ *rest.Config, inCluster bool, _ error) {
	if o.Kubeconfig == "" && o.Context == "" {
		if config, err := rest.InClusterConfig(); err == nil {
			return config, true, nil
		} else if !errors.Is(err, rest.ErrNotInCluster) {
			return nil, false, fmt.Errorf("service account: %w", err)
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: o.Context}).ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err):
		return nil, false, fmt.Errorf("%w in %s: name a kubeconfig file by --kube.kubeconfig or KUBECONFIG", ErrNotConfigured, strings.Join(rules.GetLoadingPrecedence(), ", "))
	case err != nil:
		return nil, false, fmt.Errorf("kubeconfig: %w", err)
	}
	return config, false, nil
}

// InCluster reports whether the tracker runs in the cluster: it has a pod's service account.
func (c *Client) InCluster() bool { return c.inCluster }

// Host returns the API server's address.
func (c *Client) Host() string { return c.config.Host }

// connectTimeout is how long Connect waits for one answer.
const connectTimeout = 10 * time.Second

// Connect repeats its request after youngEvery to a new cluster that has no kube-system yet, because an API server creates
// that namespace within seconds of its first start; and after grantEvery while the right to ask is missing.
const (
	youngEvery = time.Second
	grantEvery = 5 * time.Second
)

// Connect asks the API server for the namespace kube-system, and returns the name of the cluster: the given one or, if it is
// empty, the namespace's UID, which stays the same for the life of a cluster. If a new cluster has no kube-system yet,
// Connect waits for it until ctx ends. If the right to list namespaces is missing, Connect logs that and waits for the
// right; a cluster with a given name needs none. The error is one line: why the server cannot be reached, and the cure
// where one is known.
func (c *Client) Connect(ctx context.Context, given string, logger log.Logger) (string, error) {
	var young, forbidden sync.Once // the log lines
	for {
		uid, err := c.clusterUID(ctx)
		every := youngEvery
		switch {
		case err == nil || given != "" && apierrors.IsForbidden(err):
			return cmp.Or(given, uid), nil
		case isYoung(err):
			young.Do(func() {
				level.Info(logger).Log("msg", "the new cluster has no namespace kube-system yet; waiting for it", "server", c.Host())
			})
		case apierrors.IsForbidden(err):
			every = grantEvery
			forbidden.Do(func() {
				level.Warn(logger).Log("msg", "a right is missing: the tracker does not start without it, as the UID of the namespace kube-system names the cluster",
					"verb", "list", "resource", "namespaces", "api_group", "", "hint", "grant it, "+asGranted+", or give the cluster a name by --cluster.name", "err", err)
			})
		default:
			return "", c.explain(err)
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(every):
		}
	}
}

// clusterUID lists the namespace by name in place of a get, because the tracker has the right to list namespaces anyway.
func (c *Client) clusterUID(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	list, err := c.core.Namespaces().List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, metav1.NamespaceSystem).String(),
	})
	if err != nil {
		return "", err
	}
	for i := range list.Items {
		if ns := &list.Items[i]; ns.Name == metav1.NamespaceSystem {
			return string(ns.UID), nil
		}
	}
	return "", apierrors.NewNotFound(corev1.Resource("namespaces"), metav1.NamespaceSystem)
}

// isYoung reports whether err is an API server's answer that kube-system does not exist. A server
// that is not an API server answers NotFound too, but with an unexpected response.
func isYoung(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// explain returns err as one line that says what is wrong with the API server, and the cure.
func (c *Client) explain(err error) error {
	var netErr *net.OpError
	var urlErr *url.Error
	switch {
	case err == nil:
		return nil
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the API server %s does not accept the credentials of the kubeconfig (401 Unauthorized)", c.Host())
	case errors.As(err, &netErr):
		return fmt.Errorf("no API server answers at %s: %w", c.Host(), netErr)
	case errors.As(err, &urlErr):
		return fmt.Errorf("no API server answers at %s: %w", c.Host(), urlErr.Err)
	default:
		return fmt.Errorf("the API server %s: %w", c.Host(), err)
	}
}
