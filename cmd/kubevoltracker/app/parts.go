package app

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"

	"github.com/kubevoltracker/kubevoltracker/collector"
	"github.com/kubevoltracker/kubevoltracker/collector/election"
	"github.com/kubevoltracker/kubevoltracker/exporter/statemetrics"
)

// openKubelets prepares to ask the kubelets how full volumes are; it returns nil if that is
// switched off.
func openKubelets(client *collector.Client, o collector.KubeletOptions, logger log.Logger) (*collector.Kubelets, error) {
	if err := o.Check(); err != nil {
		return nil, UsageError{err}
	}
	switch {
	case o.Interval > 0 && o.OnlyInCluster && !client.InCluster():
		level.Info(logger).Log("msg", "kubelets are not asked how full volumes are, as the tracker runs outside a cluster; ask them by --kubelet.interval", "for_example", "--kubelet.interval="+o.Interval.String())
		return nil, nil
	case o.Interval == 0:
		return nil, nil
	}
	o.Namespace = ownNamespace()
	kubelets, err := client.Kubelets(o)
	if err != nil {
		return nil, UsageError{err}
	}
	return kubelets, nil
}

// rendererOf returns the generators as the collector's Renderer; nil if there are none, as an interface with a nil
// pointer in it is not nil.
func rendererOf(generators *statemetrics.Generators) collector.Renderer {
	if generators == nil {
		return nil
	}
	return generators
}

// namespaceFile contains the namespace of the pod in which the process runs.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// ownNamespace returns the namespace of the pod in which the process runs; outside a cluster, that
// of deploy/rbac.yaml.
func ownNamespace() string {
	if text, err := os.ReadFile(namespaceFile); err == nil {
		return strings.TrimSpace(string(text))
	}
	return "kubevoltracker"
}

// check returns an error if the election cannot work with this catalog or cannot reach its lease,
// and completes the options.
func (o *ElectionOptions) check(ctx context.Context, client *collector.Client, catalogURL string, logger log.Logger) error {
	if !o.Enabled {
		return nil
	}
	if catalogURL == EmbeddedCatalog || catalogURL == NoCatalog {
		return UsageError{errors.New("--leader-election: the trackers need a catalog that they share: name it by --catalog.url")}
	}
	if o.Namespace == "" {
		o.Namespace = ownNamespace()
	}
	return election.Check(ctx, o.options(client, "", logger))
}

func (o *ElectionOptions) options(client *collector.Client, instance string, logger log.Logger) election.Options {
	return election.Options{Leases: client.Leases(), Namespace: o.Namespace, Name: o.Name, Instance: instance, Logger: logger}
}
