package main

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/alecthomas/kingpin/v2"
	"github.com/go-kit/log"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubevoltracker/kubevoltracker/collector"
	"github.com/kubevoltracker/kubevoltracker/collector/election"
)

// namespaceFile holds the namespace of the pod that a process is in.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// electionFlags say whether several trackers share a catalog, and by which lease.
type electionFlags struct {
	on              bool
	namespace, name string
}

func (f *electionFlags) add(cmd *kingpin.CmdClause) {
	cmd.Flag("leader-election", "Of several trackers with one catalog, let one write; the others stand by.").BoolVar(&f.on)
	cmd.Flag("leader-election.namespace", "Namespace of the lease; default: in a cluster the pod's own, else kubevoltracker.").StringVar(&f.namespace)
	cmd.Flag("leader-election.lease", "Name of the lease.").Default("kubevoltracker").StringVar(&f.name)
}

// check reports whether the lease can be had, and is of use.
func (f *electionFlags) check(ctx context.Context, client *collector.Client, catalogURL string) error {
	if !f.on {
		return nil
	}
	if catalogURL == embeddedCatalog || catalogURL == noCatalog {
		return usageError{errors.New("--leader-election: the trackers need a catalog that they share: name it by --catalog.url")}
	}
	if f.namespace == "" {
		f.namespace = "kubevoltracker"
		if text, err := os.ReadFile(namespaceFile); err == nil {
			f.namespace = strings.TrimSpace(string(text))
		}
	}
	return election.Check(ctx, f.options(client, "", nil))
}

func (f *electionFlags) options(client *collector.Client, instance string, logger log.Logger) election.Options {
	return election.Options{Leases: client.Leases(), Namespace: f.namespace, Name: f.name, Instance: instance, Logger: logger}
}

// registerLeader exports whether this tracker is the one that writes.
func registerLeader(reg prometheus.Registerer, e *election.Election) {
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "kubevoltracker_leader",
		Help: "1 if this tracker is the one that writes the catalog, 0 if it stands by.",
	}, func() float64 {
		if e == nil || e.Held() != nil {
			return 1
		}
		return 0
	}))
}
