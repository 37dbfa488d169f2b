package collector

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-kit/log/level"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

// KubeletOptions configure how the kubelets are asked how full volumes are.
type KubeletOptions struct {
	// Interval is how often each kubelet is asked. A kubelet itself measures once a minute.
	Interval time.Duration
	// OnlyInCluster is set if nobody gave the interval: it counts only in a cluster then.
	OnlyInCluster bool
	// CertificateAuthority is a file with the authorities of the kubelets' serving certificates. If
	// it is empty, the API server's authorities are used.
	CertificateAuthority string
	// InsecureTLS accepts any certificate. Whoever can answer in a node's place then receives the
	// token.
	InsecureTLS bool
	// AddressTypes are the types of the addresses in a Node at which its kubelet is asked, in this
	// order, or lists of them with commas; if empty, InternalIP.
	AddressTypes []string
	// Port is where kubelets serve; 0 for the port that each Node names.
	Port int
	// ServiceAccount, NAME or NAMESPACE/NAME, is the one whose tokens the kubelets receive. If it is
	// empty, they receive the kubeconfig's client certificate, or else a token of
	// KubeletServiceAccount.
	ServiceAccount string
	// TokenFile has a token that the kubelets receive instead.
	TokenFile string
	// Namespace is that of a service account that is named without one.
	Namespace string
}

// Check returns an error that names the flag if the options cannot be, whether or not kubelets are
// asked.
func (o *KubeletOptions) Check() error {
	switch {
	case o.Interval < 0:
		return errors.New("--kubelet.interval: it cannot be negative; 0s switches it off")
	case o.InsecureTLS && o.CertificateAuthority != "":
		return errors.New("--kubelet.insecure-tls: no certificate is looked at, so --kubelet.certificate-authority would do nothing; leave one out")
	case o.TokenFile != "" && o.ServiceAccount != "":
		return errors.New("--kubelet.token-file: it has the token, so --kubelet.service-account would do nothing; leave one out")
	case o.Port < 0 || o.Port > 65535:
		return fmt.Errorf("--kubelet.port: %d is no port", o.Port)
	}
	_, err := o.addressTypes()
	return err
}

// Kubelets asks the kubelets how full the volumes of their pods are: only kubelets know, and only
// while a volume is mounted.
//
// It asks them directly, as metrics-server does. A request through the API server would need the
// permission nodes/proxy, which allows running commands in all pods.
//
// Kubelets are not trusted, as everything on a node may be in other hands. They never receive the
// token with which the tracker asks the API server. kubelet_address.go says where a kubelet may be,
// kubelet_client.go what it receives, kubelet_answer.go how much it may answer, and
// inventory.Refusal what it may report.
type Kubelets struct {
	nodes     typedcore.NodeInterface
	transport *kubeletTransport
	rules     *addresses
	interval  time.Duration
	timeout   time.Duration // of one request
	rights    *rights       // set by the collector

	mu        sync.Mutex
	addresses map[string]string // of the kubelets that have answered, by node name
}

const (
	// kubeletTimeout bounds one request: the kubelet computes each answer anew.
	kubeletTimeout = 30 * time.Second
	// kubeletsAtOnce is the number of concurrent requests. Hostile answers to all of them take some
	// 230 MB, with garbage (TestHostileAnswersAtOnce).
	kubeletsAtOnce = 20
	// measuredAtOnce is the number of volumes in one event, which takes some milliseconds.
	measuredAtOnce = 1000
)

// Kubelets prepares the requests to the kubelets. The error says what is wrong with the options.
func (c *Client) Kubelets(o KubeletOptions) (*Kubelets, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	rules, err := newAddresses(&o, c.config)
	if err != nil {
		return nil, err
	}
	transport, err := c.newKubeletTransport(&o, &rules)
	if err != nil {
		return nil, err
	}
	return &Kubelets{
		nodes: c.core.Nodes(), transport: transport, rules: &rules, interval: o.Interval, timeout: kubeletTimeout, addresses: map[string]string{},
	}, nil
}

// readKubelets asks the kubelets of the nodes in use, once per interval, until ctx ends.
func (c *Collector) readKubelets(ctx context.Context) {
	select {
	case <-c.synced:
	case <-ctx.Done():
		return
	}
	failing, warned := 0, map[refusal]struct{}{}
	// The jitter keeps many trackers from asking in the same second.
	wait.JitterUntilWithContext(ctx, func(ctx context.Context) {
		nodes := c.nodesInUse()
		said := c.kubelets.read(ctx, nodes, c.vet)
		if ctx.Err() != nil {
			return
		}
		errs := said.errs
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
		maps.DeleteFunc(warned, func(r refusal, _ struct{}) bool { // forget nodes that are gone
			_, used := nodes[r.node]
			return !used
		})
		for r, samples := range said.refused {
			c.metrics.kubeletRefused[r.reason].Add(float64(samples))
			if _, ok := warned[r]; !ok && refusalTexts[r.reason] != "" {
				warned[r] = struct{}{}
				level.Warn(c.logger).Log("msg", refusalTexts[r.reason], "kind", "Node", "name", r.node, "samples", samples)
			}
		}
		// The samples are taken in parts, so that events of the watches need not wait for all of
		// them.
		for part := range slices.Chunk(slices.Collect(maps.Values(said.samples)), measuredAtOnce) {
			_ = c.observe(func(inv *inventory.Inventory, now fact.Time) error {
				inv.Measure(part, now)
				return nil
			})
		}
	}, c.kubelets.interval, 0.05, false)
}

// refusedFigures is the reason why figures do not count that cannot be.
const refusedFigures inventory.Refusal = "figures"

// refusalTexts are what the log says of a node, once for each reason. Two reasons are not logged: that a pod
// has just ended is usual, and a driver may report wrong figures for ever.
var refusalTexts = map[inventory.Refusal]string{
	inventory.RefusedNode:  "a kubelet reports volumes of pods that are on other nodes: refused",
	inventory.RefusedClaim: "a kubelet reports volumes that its pods do not use: refused",
	inventory.RefusedTime:  "a kubelet reports volumes with times that cannot be: refused; is its node's clock right?",
}

// refusal is a reason for which samples of a node's kubelet were refused.
type refusal struct {
	node   string
	reason inventory.Refusal
}

// vet returns the samples that the inventory accepts, and the number of the others by reason.
func (c *Collector) vet(list []inventory.Sample) ([]inventory.Sample, map[inventory.Refusal]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, refused := fact.At(c.now()), map[inventory.Refusal]int{}
	list = slices.DeleteFunc(list, func(s inventory.Sample) bool {
		reason := c.inv.Refusal(&s, now)
		if reason != inventory.Accepted {
			refused[reason]++
		}
		return reason != inventory.Accepted
	})
	return list, refused
}

func (c *Collector) nodesInUse() map[string]struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inv.NodesInUse()
}

// vetting decides which samples of a kubelet count: those that it returns.
type vetting func([]inventory.Sample) ([]inventory.Sample, map[inventory.Refusal]int)

// claimName is the name of a claim.
type claimName struct{ namespace, name string }

// reports are what the kubelets said in one turn.
type reports struct {
	samples map[claimName]inventory.Sample // if several pods use a claim, the latest
	refused map[refusal]int
	errs    []error // one for each kubelet that did not answer
}

func (r *reports) add(s *inventory.Sample) {
	claim := claimName{s.ClaimNamespace, s.Claim}
	if had, ok := r.samples[claim]; !ok || s.At > had.At {
		r.samples[claim] = *s
	}
}

// read asks the kubelets of these nodes.
func (k *Kubelets) read(ctx context.Context, nodes map[string]struct{}, vet vetting) *reports {
	k.mu.Lock()
	maps.DeleteFunc(k.addresses, func(node, _ string) bool { // forget nodes that are gone
		_, used := nodes[node]
		return !used
	})
	k.mu.Unlock()
	all := &reports{samples: map[claimName]inventory.Sample{}, refused: map[refusal]int{}}
	if len(nodes) == 0 {
		return all
	}
	client, err := k.transport.connect(ctx)
	k.rights.note(right{"create", "", "serviceaccounts/token"}, err, "kubelets are not asked how full volumes are", kubeletCure)
	if err != nil {
		all.errs = slices.Repeat([]error{err}, len(nodes))
		return all
	}
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(kubeletsAtOnce)
	for node := range nodes {
		group.Go(func() error {
			list, implausible, err := k.ask(ctx, client, node)
			accepted, refused := vet(list)
			if implausible > 0 {
				refused[refusedFigures] += implausible
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				all.errs = append(all.errs, err)
			}
			for reason, samples := range refused {
				all.refused[refusal{node, reason}] = samples
			}
			for i := range accepted {
				all.add(&accepted[i])
			}
			return nil
		})
	}
	_ = group.Wait() // no function of the group returns an error
	k.noteStatsRight(len(nodes), all.errs)
	return all
}

// ask asks the kubelet of a node: at its last known address, or else at the address in the Node.
// implausible is the number of volumes whose figures cannot be.
func (k *Kubelets) ask(ctx context.Context, client *kubeletClient, node string) (samples []inventory.Sample, implausible int, err error) {
	ctx, cancel := context.WithTimeout(ctx, k.timeout)
	defer cancel()
	k.mu.Lock()
	address, known := k.addresses[node]
	k.mu.Unlock()
	if !known {
		o, err := k.node(ctx, node)
		if err != nil {
			return nil, 0, err
		}
		if address, err = k.rules.of(o); err != nil {
			return nil, 0, err
		}
	}
	samples, implausible, err = client.summary(ctx, node, address)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("it did not finish its answer within %s: %w", k.timeout, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		delete(k.addresses, node) // it may have moved, or may be gone
		return nil, 0, fmt.Errorf("the kubelet of node %s: %w", node, explainKubelet(err))
	}
	k.addresses[node] = address
	return samples, implausible, nil
}

// kubeletCure is what a user can do who does not want to grant the rights for the kubelets.
const kubeletCure = "ask no kubelets by --kubelet.interval=0s"

// node returns a Node. It lists by name in place of a get, because the tracker has the right to list nodes anyway.
func (k *Kubelets) node(ctx context.Context, name string) (*corev1.Node, error) {
	list, err := k.nodes.List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()})
	if apierrors.IsForbidden(err) {
		err = fmt.Errorf("%w: grant it, %s", err, asGranted)
	}
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		if list.Items[i].Name == name {
			return &list.Items[i], nil
		}
	}
	return nil, apierrors.NewNotFound(corev1.Resource("nodes"), name)
}

// noteStatsRight records whether the kubelets that were asked in one turn allow their statistics to the account whose
// token they got. A kubelet's 403 is no answer of the API server, but means the same, unless another kubelet answers:
// then the right is granted, and that kubelet does not know it.
func (k *Kubelets) noteStatsRight(asked int, errs []error) {
	var missing error
	if len(errs) == asked {
		i := slices.IndexFunc(errs, func(err error) bool {
			var status *statusError
			return errors.As(err, &status) && status.code == http.StatusForbidden
		})
		if i < 0 {
			return // it is not known
		}
		missing = apierrors.NewForbidden(corev1.Resource("nodes/stats"), "", errs[i])
	}
	k.rights.note(right{"get", "", "nodes/stats"}, missing, "kubelets do not say how full volumes are", kubeletCure)
}

// summary asks the kubelet of a node at an address.
func (c *kubeletClient) summary(ctx context.Context, node, address string) (samples []inventory.Sample, implausible int, err error) {
	response, err := c.get(ctx, address)
	if err != nil {
		return nil, 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, 0, &statusError{response.StatusCode}
	}
	return readAnswer(node, response.Body)
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
		return fmt.Errorf("%w: it takes no credentials of the API server (its --authentication-token-webhook), or the token is not for the API server", err)
	case errors.As(err, &status) && status.code == http.StatusForbidden:
		return fmt.Errorf("%w: grant nodes/stats, %s; if other kubelets answer, this one asks another API server, or none", err, asGranted)
	}
	return err
}
