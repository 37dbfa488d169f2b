package collector

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-kit/log/level"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	statsv1alpha1 "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

// KubeletOptions configure how the kubelets are asked how full volumes are.
type KubeletOptions struct {
	// Interval is how often each kubelet is asked. A kubelet itself measures once a minute.
	Interval time.Duration
	// CertificateAuthority is a file with the authorities of the kubelets' serving certificates. If
	// it is empty, the API server's authorities are used.
	CertificateAuthority string
	// InsecureTLS accepts any certificate. Whoever can answer in a node's place then receives the
	// tracker's credentials.
	InsecureTLS bool
}

// Kubelets asks the kubelets how full the volumes of their pods are: only kubelets know, and only
// while a volume is mounted.
//
// It asks them directly, as metrics-server does. A request through the API server would need the
// permission nodes/proxy, which allows running commands in all pods.
type Kubelets struct {
	nodes    typedcore.NodeInterface
	client   *http.Client
	interval time.Duration

	mu        sync.Mutex
	addresses map[string]string // of the kubelets that have answered, by node name
}

const (
	// kubeletTimeout bounds one request: the kubelet computes each answer anew.
	kubeletTimeout = 30 * time.Second
	// kubeletsAtOnce is the number of concurrent requests.
	kubeletsAtOnce = 20
	// kubeletBytes bounds an answer; that of a node with 110 pods has some hundred kilobytes.
	kubeletBytes = 256 << 20
	kubeletPort  = 10250 // unless the node's status gives another port
	// measuredAtOnce is the number of volumes in one event, which takes some milliseconds.
	measuredAtOnce = 1000
)

// Kubelets prepares the requests to the kubelets, with the same credentials as for the API server.
// The error says what is wrong with the options.
func (c *Client) Kubelets(o KubeletOptions) (*Kubelets, error) {
	config := rest.CopyConfig(c.config)
	config.Timeout = kubeletTimeout
	config.ServerName = "" // the configured name is the API server's
	if o.CertificateAuthority != "" {
		config.CAFile, config.CAData = o.CertificateAuthority, nil
	}
	if o.InsecureTLS {
		config.Insecure, config.CAFile, config.CAData = true, "", nil
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("--kubelet.certificate-authority: %w", err)
	}
	return &Kubelets{nodes: c.core.Nodes(), client: client, interval: o.Interval, addresses: map[string]string{}}, nil
}

// readKubelets asks the kubelets of the nodes in use, once per interval, until ctx ends.
func (c *Collector) readKubelets(ctx context.Context) {
	select {
	case <-c.synced:
	case <-ctx.Done():
		return
	}
	failing := 0
	// The jitter keeps many trackers from asking in the same second.
	wait.JitterUntilWithContext(ctx, func(ctx context.Context) {
		nodes := c.nodesInUse()
		samples, errs := c.kubelets.read(ctx, nodes)
		if ctx.Err() != nil {
			return
		}
		c.metrics.kubeletReads.Add(float64(len(nodes)))
		c.metrics.kubeletFailures.Add(float64(len(errs)))
		for _, err := range errs {
			level.Debug(c.logger).Log("msg", "a kubelet could not be read", "err", err)
		}
		switch {
		case len(errs) > 0 && len(errs) != failing:
			level.Warn(c.logger).Log("msg", "some kubelets did not report how full volumes are; their last reports stay in use", "kubelets", len(errs), "of", len(nodes), "err", errs[0])
		case len(errs) == 0 && failing > 0:
			level.Info(c.logger).Log("msg", "all kubelets report how full volumes are")
		}
		failing = len(errs)
		// The samples are taken in parts, so that events of the watches need not wait for all of
		// them.
		for part := range slices.Chunk(slices.Collect(maps.Values(samples)), measuredAtOnce) {
			_ = c.observe(func(inv *inventory.Inventory, now fact.Time) error {
				inv.Measure(part, now)
				return nil
			})
		}
	}, c.kubelets.interval, 0.05, false)
}

func (c *Collector) nodesInUse() map[string]struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inv.NodesInUse()
}

// samples are the kubelets' reports by claim; if several pods use a claim, the latest report.
type samples map[statsv1alpha1.PVCReference]inventory.Sample

func (s samples) add(claim statsv1alpha1.PVCReference, sample inventory.Sample) {
	if had, ok := s[claim]; !ok || sample.At > had.At {
		s[claim] = sample
	}
}

// read asks the kubelets of these nodes. There is one error for each kubelet that did not answer.
func (k *Kubelets) read(ctx context.Context, nodes map[string]struct{}) (all samples, errs []error) {
	k.mu.Lock()
	maps.DeleteFunc(k.addresses, func(node, _ string) bool { // forget nodes that are gone
		_, used := nodes[node]
		return !used
	})
	k.mu.Unlock()
	all = samples{}
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(kubeletsAtOnce)
	for node := range nodes {
		group.Go(func() error {
			of, err := k.ask(ctx, node)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, err)
			}
			for claim, sample := range of {
				all.add(claim, sample)
			}
			return nil
		})
	}
	_ = group.Wait() // no function of the group returns an error
	return all, errs
}

// ask asks the kubelet of a node: at its last known address, or else at the address in the Node.
func (k *Kubelets) ask(ctx context.Context, node string) (samples, error) {
	ctx, cancel := context.WithTimeout(ctx, kubeletTimeout)
	defer cancel()
	k.mu.Lock()
	address, known := k.addresses[node]
	k.mu.Unlock()
	if !known {
		o, err := k.nodes.Get(ctx, node, metav1.GetOptions{})
		if apierrors.IsForbidden(err) {
			err = fmt.Errorf("%w: grant what deploy/rbac.yaml does", err)
		}
		if err != nil {
			return nil, err
		}
		if address, err = kubeletAddress(o); err != nil {
			return nil, err
		}
	}
	usage, err := k.summary(ctx, address)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		delete(k.addresses, node) // it may have moved, or may be gone
		return nil, fmt.Errorf("the kubelet of node %s: %w", node, explainKubelet(err))
	}
	k.addresses[node] = address
	return usage, nil
}

// kubeletAddress returns the address at which a node's kubelet serves. It prefers the internal IP
// address, which needs no resolver and is behind no firewall.
func kubeletAddress(o *corev1.Node) (string, error) {
	port := cmp.Or(int(o.Status.DaemonEndpoints.KubeletEndpoint.Port), kubeletPort)
	for _, kind := range []corev1.NodeAddressType{corev1.NodeInternalIP, corev1.NodeInternalDNS, corev1.NodeHostName, corev1.NodeExternalIP, corev1.NodeExternalDNS} {
		if i := slices.IndexFunc(o.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Type == kind }); i >= 0 {
			return net.JoinHostPort(o.Status.Addresses[i].Address, strconv.Itoa(port)), nil
		}
	}
	return "", fmt.Errorf("node %s has no address", o.Name)
}

// statusError is an HTTP status other than 200.
type statusError struct{ code int }

func (e *statusError) Error() string {
	return fmt.Sprintf("%d %s", e.code, http.StatusText(e.code))
}

// explainKubelet adds the cure to err, where one is known.
func explainKubelet(err error) error {
	var status *statusError
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, &untrusted):
		return fmt.Errorf("%w: name who has signed the certificates of kubelets by --kubelet.certificate-authority, or accept any by --kubelet.insecure-tls", err)
	case errors.As(err, &status) && status.code == http.StatusUnauthorized:
		return fmt.Errorf("%w: it takes no credentials of the API server (its --authentication-token-webhook)", err)
	case errors.As(err, &status) && status.code == http.StatusForbidden:
		return fmt.Errorf("%w: grant nodes/stats, as deploy/rbac.yaml does", err)
	}
	return err
}

// summary is the part of a kubelet's statsv1alpha1.Summary that is decoded; the rest is mostly
// about processors and memory.
type summary struct {
	Pods []struct {
		PodRef  statsv1alpha1.PodReference  `json:"podRef"`
		Volumes []statsv1alpha1.VolumeStats `json:"volume"`
	} `json:"pods"`
}

// summary requests the summary of the kubelet at an address.
func (k *Kubelets) summary(ctx context.Context, address string) (samples, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/stats/summary", nil)
	if err != nil {
		return nil, err
	}
	response, err := k.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, &statusError{response.StatusCode}
	}
	var s summary
	if err := json.NewDecoder(io.LimitReader(response.Body, kubeletBytes)).Decode(&s); err != nil {
		return nil, fmt.Errorf("its answer is no summary of statistics: %w", err)
	}
	usage := samples{}
	for i := range s.Pods {
		p := &s.Pods[i]
		for j := range p.Volumes {
			if v := &p.Volumes[j]; v.PVCRef != nil {
				if space, ok := spaceOf(&v.FsStats); ok {
					usage.add(*v.PVCRef, inventory.Sample{PodUID: p.PodRef.UID, Volume: v.Name, At: fact.At(v.Time.Time), Space: space})
				}
			}
		}
	}
	return usage, nil
}

// spaceOf returns a kubelet's figures for a file system. ok is false if the kubelet does not know
// the used bytes, as for a block device, or if they are implausible: some drivers report a negative
// number, which arrives as a huge unsigned one.
func spaceOf(s *statsv1alpha1.FsStats) (space fact.Space, ok bool) {
	ok = s.UsedBytes != nil && !s.Time.IsZero()
	number := func(n *uint64) int64 {
		switch {
		case n == nil:
			return 0
		case *n > math.MaxInt64:
			ok = false
			return 0
		default:
			return int64(*n)
		}
	}
	space = fact.Space{
		CapacityBytes: number(s.CapacityBytes), UsedBytes: number(s.UsedBytes), AvailableBytes: number(s.AvailableBytes),
		Inodes: number(s.Inodes), InodesUsed: number(s.InodesUsed),
	}
	return space, ok
}
