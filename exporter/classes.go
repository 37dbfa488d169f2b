package exporter

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

const (
	classInfoName = prefix + "_storageclass_info"
	classInfoHelp = "What a StorageClass is: its provisioner, whether it binds at once (Immediate) or at first use (WaitForFirstConsumer), and what becomes of its volumes. Always 1; join with it on storageclass."
)

// classes predict which counters a storage class will need, so that these start at 0 before
// the class has a volume: increase() misses the first step of a counter that starts at 1.
type classes struct {
	states  map[string]fact.ClassState // by class name
	sources map[string]string          // by provisioner: the source kind of its last volume
}

func newClasses() classes { return classes{map[string]fact.ClassState{}, map[string]string{}} }

// present copies the classes to expose.
func (c classes) present() []fact.ClassState { return slices.Collect(maps.Values(c.states)) }

// classSeries turns copied classes into a family.
func classSeries(states []fact.ClassState) family {
	slices.SortFunc(states, func(a, b fact.ClassState) int { return cmp.Compare(a.Name, b.Name) })
	return family{name: classInfoName, help: classInfoHelp, lines: classLines(states)}
}

func classLines(states []fact.ClassState) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var b []byte
		for i := range states {
			c := &states[i]
			b = appendLabel(append(b[:0], '{'), "storageclass", c.Name)
			b = appendLabel(append(b, ','), "provisioner", c.Provisioner)
			b = appendLabel(append(b, ','), "binding_mode", c.BindingMode)
			b = appendLabel(append(b, ','), "reclaim_policy", c.ReclaimPolicy)
			if !yield(appendValue(b, 1)) {
				return
			}
		}
	}
}

// apply records a class and returns the source kind that its volumes will have: that of the
// provisioner's last volume, or else the one that the provisioner's name implies.
func (c classes) apply(state *fact.ClassState) (source string) {
	if state.Gone {
		delete(c.states, state.Name)
		return ""
	}
	c.states[state.Name] = *state
	return cmp.Or(c.sources[state.Provisioner], sourceOf(state.Provisioner))
}

// learn records the source kind of a volume of a class.
func (c classes) learn(class, source string) {
	if provisioner := c.states[class].Provisioner; provisioner != "" {
		c.sources[provisioner] = source
	}
}

// inTreeSources are the kinds of the provisioners that were once part of Kubernetes; CSI
// drivers that have taken over from them still make volumes of these kinds.
var inTreeSources = map[string]string{
	"no-provisioner":  "local", // made by hand, or by a local volume provisioner
	"aws-ebs":         "awsElasticBlockStore",
	"azure-disk":      "azureDisk",
	"azure-file":      "azureFile",
	"gce-pd":          "gcePersistentDisk",
	"portworx-volume": "portworxVolume",
	"vsphere-volume":  "vsphereVolume",
}

func sourceOf(provisioner string) string {
	if name, inTree := strings.CutPrefix(provisioner, "kubernetes.io/"); inTree {
		return cmp.Or(inTreeSources[name], name) // cinder, rbd, …
	}
	return "csi"
}
