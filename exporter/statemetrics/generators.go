package statemetrics

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kube-state-metrics/v2/pkg/allowdenylist"
	"k8s.io/kube-state-metrics/v2/pkg/builder"
	"k8s.io/kube-state-metrics/v2/pkg/metric"
	generator "k8s.io/kube-state-metrics/v2/pkg/metric_generator"
	"k8s.io/kube-state-metrics/v2/pkg/optin"
	"k8s.io/kube-state-metrics/v2/pkg/options"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// kinds are the resources whose families can be served, by kube-state-metrics' names.
var kinds = map[string]fact.Kind{
	"persistentvolumes":      fact.Volumes,
	"persistentvolumeclaims": fact.Claims,
	"storageclasses":         fact.StorageClasses,
	"volumeattachments":      fact.VolumeAttachments,
}

// Options say which families to serve. The zero value serves none.
type Options struct {
	// Resources are the kinds; the flag is --metrics.kube-state-metrics.
	Resources Resources
	// Allow and Deny select families by regular expressions that match a part of the name; only one
	// of them may be set. The flags are --metrics.kube-state-metrics-allowlist and -denylist.
	Allow, Deny options.MetricSet
	// Labels and Annotations are those of the objects to serve in kube_…_labels and
	// kube_…_annotations. The flags are --metrics.kube-state-metrics-labels-allowlist and
	// -annotations-allowlist.
	Labels, Annotations options.LabelsAllowList
}

// Resources are names of resources, without duplicates.
type Resources []string

// Set adds names with commas between them. The error lists the names that there are.
func (r *Resources) Set(text string) error {
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if _, known := kinds[name]; !known {
			return fmt.Errorf("%q is none of %s", name, strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))
		}
		if !slices.Contains(*r, name) {
			*r = append(*r, name)
		}
	}
	return nil
}

// Generators make the families of objects. Several goroutines may use them.
type Generators struct {
	of     map[fact.Kind][]generator.FamilyGenerator // does not change
	shapes *shapes
}

// New returns the generators of the families that o selects; nil if it selects no resources. The
// error names the flag with the mistake.
func New(o Options) (*Generators, error) {
	families, err := allowdenylist.New(o.Allow, o.Deny)
	if err != nil {
		return nil, errors.New("--metrics.kube-state-metrics-allowlist and --metrics.kube-state-metrics-denylist exclude each other: give one of them")
	}
	if err := families.Parse(); err != nil {
		return nil, fmt.Errorf("--metrics.kube-state-metrics-allowlist or --metrics.kube-state-metrics-denylist: %w", err)
	}
	if len(o.Resources) == 0 {
		return nil, nil
	}
	byDefault, err := optin.NewMetricFamilyFilter(nil) // no family that kube-state-metrics serves on demand only
	if err != nil {
		return nil, err
	}
	g := &Generators{of: map[fact.Kind][]generator.FamilyGenerator{}, shapes: newShapes()}
	filter := generator.NewCompositeFamilyGeneratorFilter(families, byDefault)
	b := builder.NewBuilder()
	b.WithFamilyGeneratorFilter(filter) // the builder demands one; its default function, which is replaced, would use it
	if err := b.WithEnabledResources(o.Resources); err != nil {
		return nil, fmt.Errorf("--metrics.kube-state-metrics: %w", err)
	}
	if err := b.WithAllowLabels(o.Labels); err != nil {
		return nil, fmt.Errorf("--metrics.kube-state-metrics-labels-allowlist: %w", err)
	}
	if err := b.WithAllowAnnotations(o.Annotations); err != nil {
		return nil, fmt.Errorf("--metrics.kube-state-metrics-annotations-allowlist: %w", err)
	}
	b.WithGenerateStoresFunc(func(all []generator.FamilyGenerator, example any, _ func(clientset.Interface, string, string) cache.ListerWatcher, _ bool, _ int64) []cache.Store {
		g.of[kindOf(example)] = generator.FilterFamilyGenerators(filter, all)
		return nil
	})
	b.BuildStores()
	return g, g.check(o.Resources)
}

// check returns an error if the library has not given a resource's generators, or has given one whose
// type this package does not write. Both can only come with another version of the library.
func (g *Generators) check(resources []string) error {
	for _, name := range resources {
		list, given := g.of[kinds[name]]
		if !given {
			return fmt.Errorf("kube-state-metrics' library has no families of %s", name)
		}
		for _, f := range list {
			// The types info and stateset exist in OpenMetrics alone: the exporter would have to write them
			// differently in each format. The families of the four kinds are all gauges.
			if f.Type != metric.Gauge {
				return fmt.Errorf("kube-state-metrics' family %s is no gauge but %s, which cannot be served", f.Name, f.Type)
			}
		}
	}
	return nil
}

// kindOf returns the kind of an object; empty if it is none of those here. The builder names a store's
// kind by an example of its objects only.
func kindOf(object any) fact.Kind {
	switch object.(type) {
	case *corev1.PersistentVolume:
		return fact.Volumes
	case *corev1.PersistentVolumeClaim:
		return fact.Claims
	case *storagev1.StorageClass:
		return fact.StorageClasses
	case *storagev1.VolumeAttachment:
		return fact.VolumeAttachments
	default:
		return ""
	}
}

// Kinds returns the kinds that have families.
func (g *Generators) Kinds() []fact.Kind { return slices.Sorted(maps.Keys(g.of)) }

// Render returns the text of an object's families. The object must be whole; Render does not change
// it and keeps nothing of it.
func (g *Generators) Render(kind fact.Kind, object any) string {
	if class, ok := object.(*storagev1.StorageClass); ok { // whose generator sets its defaults
		own := *class
		object = &own
	}
	return g.pack(g.of[kind], object)
}
