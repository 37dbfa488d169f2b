package main

import (
	"github.com/alecthomas/kingpin/v2"
	"k8s.io/kube-state-metrics/v2/pkg/options"

	"github.com/kubevoltracker/kubevoltracker/exporter"
	"github.com/kubevoltracker/kubevoltracker/exporter/statemetrics"
)

// addMetricsFlags adds the flags that say which metrics are served.
func addMetricsFlags(cmd *kingpin.CmdClause, o *exporter.Options) {
	cmd.Flag("metrics.per-volume", "Serve the metrics that have a series for each volume.").Default("true").BoolVar(&o.PerVolume)
	list := func(flag, help string, add func(string) error) {
		cmd.Flag(flag, help).SetValue(&listFlag{add: add})
	}
	const names = "; a name or a regular expression for all of it, repeatable."
	list("metrics.namespace-allowlist", "Serve metrics per volume only for claims in these namespaces"+names, o.Namespaces.Allow.Add)
	list("metrics.namespace-denylist", "Serve no metrics per volume for claims in these namespaces"+names, o.Namespaces.Deny.Add)
	list("metrics.storageclass-allowlist", "Serve metrics per volume only for these storage classes"+names, o.StorageClasses.Allow.Add)
	list("metrics.storageclass-denylist", "Serve no metrics per volume for these storage classes"+names, o.StorageClasses.Deny.Add)
	cmd.Flag("metrics.max-volumes", "For how many volumes metrics per volume are served at most; 0 for all.").Default("100000").Uint32Var(&o.MaxVolumes)
	const labels = ", as label_…; with commas between them, or repeatable."
	list("metrics.claim-labels", "Labels of claims to show on volume_info"+labels, o.ClaimLabels.Add)
	list("metrics.namespace-labels", "Labels of the claim's namespace to show on volume_info, as namespace_label_…; with commas between them, or repeatable.", o.NamespaceLabels.Add)
	cmd.Flag("metrics.created-timestamps", "Write the time at which each counter began as a `_created` line in OpenMetrics; protobuf always has it.").BoolVar(&o.CreatedTimestamps)
}

// addStateMetricsFlags adds the flags that say which families of kube-state-metrics are served.
func addStateMetricsFlags(cmd *kingpin.CmdClause, o *statemetrics.Options) {
	o.Allow, o.Deny = options.MetricSet{}, options.MetricSet{}
	list := func(flag, help string, add func(string) error) {
		cmd.Flag(flag, help).SetValue(&listFlag{add: add})
	}
	list("metrics.kube-state-metrics", "Serve kube-state-metrics' own families of these kinds: persistentvolumes, persistentvolumeclaims, storageclasses, volumeattachments; with commas between them, or repeatable.", o.Resources.Set)
	const names = "; regular expressions for a part of the name, with commas between them, or repeatable."
	list("metrics.kube-state-metrics-allowlist", "Serve only these of kube-state-metrics' families"+names, o.Allow.Set)
	list("metrics.kube-state-metrics-denylist", "Do not serve these of kube-state-metrics' families"+names, o.Deny.Set)
	const syntax = ", in its own syntax: persistentvolumes=[app,team],storageclasses=[*]."
	once := func(flag, help string, add func(string) error) {
		cmd.Flag(flag, help).SetValue(&listFlag{once: true, add: add})
	}
	once("metrics.kube-state-metrics-labels-allowlist", "Labels of objects to serve in kube-state-metrics' families kube_…_labels"+syntax, o.Labels.Set)
	once("metrics.kube-state-metrics-annotations-allowlist", "Annotations of objects to serve in kube-state-metrics' families kube_…_annotations"+syntax, o.Annotations.Set)
}

// listFlag is a flag that may be given again and again, or once.
type listFlag struct {
	once bool
	add  func(string) error
	text string
}

func (l *listFlag) Set(text string) error {
	if err := l.add(text); err != nil {
		return err
	}
	l.text = text
	return nil
}

func (l *listFlag) String() string { return l.text }

// IsCumulative lets kingpin take the flag more than once.
func (l *listFlag) IsCumulative() bool { return !l.once }
