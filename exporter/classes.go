package exporter

import (
	"cmp"
	"strings"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// classes predict which counters a storage class will need, so that these start at 0 before
// the class has a volume: increase() misses the first step of a counter that starts at 1.
type classes struct {
	provisioners map[string]string // by class name
	sources      map[string]string // by provisioner: the source kind of its last volume
}

func newClasses() classes { return classes{map[string]string{}, map[string]string{}} }

// apply records a class and returns the source kind that its volumes will have: that of the
// provisioner's last volume, or else the one that the provisioner's name implies.
func (c classes) apply(state *fact.ClassState) (source string) {
	if state.Gone {
		delete(c.provisioners, state.Name)
		return ""
	}
	c.provisioners[state.Name] = state.Provisioner
	return cmp.Or(c.sources[state.Provisioner], sourceOf(state.Provisioner))
}

// learn records the source kind of a volume of a class.
func (c classes) learn(class, source string) {
	if provisioner := c.provisioners[class]; provisioner != "" {
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
