package exporter

import (
	"cmp"
	"strings"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// classes tell which counters a storage class will need before it has a volume: the
// first step of one that begins with it is not seen by increase().
type classes struct {
	provisioners map[string]string // by class
	sources      map[string]string // by provisioner: what its last volume was on
}

func newClasses() classes { return classes{map[string]string{}, map[string]string{}} }

// apply takes in a class, and returns the kind of backing store that its volumes will
// be on: what those of its provisioner are on, else what the provisioner's name says.
func (c classes) apply(state *fact.ClassState) (source string) {
	if state.Gone {
		delete(c.provisioners, state.Name)
		return ""
	}
	c.provisioners[state.Name] = state.Provisioner
	return cmp.Or(c.sources[state.Provisioner], sourceOf(state.Provisioner))
}

// learn takes in what a volume of a class is on.
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
