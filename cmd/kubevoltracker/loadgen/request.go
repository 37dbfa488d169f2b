package loadgen

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
)

// resources of the kinds that runs make.
var resources = map[string]schema.GroupVersionResource{
	VolumeKind: {Version: "v1", Resource: "persistentvolumes"},
	ClaimKind:  {Version: "v1", Resource: "persistentvolumeclaims"},
	PodKind:    {Version: "v1", Resource: "pods"},
	JobKind:    {Group: "batch", Version: "v1", Resource: "jobs"},
	SetKind:    {Group: "apps", Version: "v1", Resource: "statefulsets"},
	ownerKind:  {Version: "v1", Resource: "configmaps"},
}

const ownerKind = "ConfigMap"

// metaClient deletes and patches objects of any kind.
type metaClient struct{ metadata.Interface }

func (c metaClient) of(kind string) metadata.ResourceInterface {
	if kind == VolumeKind {
		return c.Resource(resources[kind])
	}
	return c.Resource(resources[kind]).Namespace(Namespace)
}

// connect reads the kubeconfig. It does not connect yet.
func connect(kubeconfig, contextName string) (*cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: contextName}).ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err):
		return nil, fmt.Errorf("no cluster is configured in %s: name a kubeconfig file by --kube.kubeconfig or KUBECONFIG", strings.Join(rules.GetLoadingPrecedence(), ", "))
	case err != nil:
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	config.UserAgent = "kubevoltracker-loadgen"
	config.QPS = -1 // --rate limits the requests
	config.Timeout = 0
	config.WarningHandler = rest.NoWarnings{}
	meta, err := metadata.NewForConfig(metadata.ConfigFor(config))
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	typed := rest.CopyConfig(config)
	typed.ContentType = runtime.ContentTypeProtobuf
	client, err := kubernetes.NewForConfig(typed)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return &cluster{client: client, host: config.Host, meta: metaClient{meta}}, nil
}

// answerTime bounds a request.
const answerTime = 30 * time.Second

// request carries out a step, and writes its line.
func (r *runner) request(ctx context.Context, s *Step) {
	line := &Line{At: time.Now(), Action: s.Action, Kind: s.Kind, Name: r.maker.full(s.Name), Force: s.Force}
	if s.Kind != VolumeKind {
		line.Namespace = Namespace
	}
	if s.Action != Create {
		if line.UID = r.target(s); line.UID == "" {
			r.skip()
			return
		}
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	err := r.send(ctx, s, line)
	answered := time.Now()
	line.Answered = &answered
	if err != nil {
		line.Error = err.Error()
	}
	r.count(line, err)
	r.account.write(line)
}

// send sends a step's request, and fills in the answer.
func (r *runner) send(ctx context.Context, s *Step, line *Line) error {
	switch s.Action {
	case Create:
		object, err := r.create(ctx, r.maker.object(s))
		if err == nil {
			line.UID, line.ResourceVersion = string(object.GetUID()), object.GetResourceVersion()
		}
		return err
	case Delete:
		return r.remove(ctx, s.Kind, line.Name, line.UID, s.Force)
	}
	patch, err := json.Marshal(r.patch(s, line.UID))
	if err != nil {
		return err
	}
	object, err := r.meta.of(s.Kind).Patch(ctx, line.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err == nil {
		line.ResourceVersion = object.ResourceVersion
	}
	return err
}

// patch is a step's change as a merge patch. The API server refuses it if the object of that name has another UID.
func (r *runner) patch(s *Step, uid string) map[string]any {
	meta := map[string]any{"uid": uid}
	switch s.Action {
	case Resize:
		return map[string]any{"metadata": meta, "spec": map[string]any{"resources": map[string]any{"requests": storage(s.GiB)}}}
	case Relabel:
		meta["labels"] = map[string]any{"owner": s.Owner}
		return map[string]any{"metadata": meta}
	case Scale:
		return map[string]any{"metadata": meta, "spec": map[string]any{"replicas": s.Replicas}}
	case Reclaim:
		ref := map[string]any{"kind": ClaimKind, "apiVersion": "v1", "namespace": Namespace, "name": r.maker.full(s.Claim), "uid": nil, "resourceVersion": nil}
		return map[string]any{"metadata": meta, "spec": map[string]any{"claimRef": ref}}
	}
	return map[string]any{"metadata": meta, "spec": map[string]any{"claimRef": nil}}
}

// remove deletes the object that has the name and the UID, and what belongs to it.
func (c *cluster) remove(ctx context.Context, kind, name, uid string, force bool) error {
	o := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(types.UID(uid))}, PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)}
	if force {
		o.GracePeriodSeconds = ptr.To[int64](0)
	}
	return c.meta.of(kind).Delete(ctx, name, o)
}

// count takes the answer to a request into the sums, and remembers what was made.
func (r *runner) count(line *Line, err error) {
	key := objectKey{line.Kind, line.Name}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.changes++
		r.troubles = 0
		if line.Action == Create {
			r.made[key] = line.UID
		}
		if line.Action == Delete && (line.Kind == JobKind || line.Kind == SetKind) {
			delete(r.made, key)
		}
	case apierrors.IsNotFound(err) && line.Action != Create, apierrors.IsConflict(err):
		r.skipped++ // it was gone already, or its name is another's
	default:
		r.refused++
		if r.troubles++; r.troubles == mostTroubles {
			r.fatal = fmt.Errorf("%d requests in a row failed, the last one to %s %s %s: %w", mostTroubles, line.Action, line.Kind, line.Name, err)
			r.stop()
		}
	}
}
