package main

import (
	"runtime/debug"
	_ "unsafe" // for go:linkname

	"k8s.io/component-base/version"
)

// Kubernetes has its version from its linker flags. Set here instead, a plain
// `go build` gives a server that says v1.36.3 rather than v0.0.0-master, which version
// checks of clients would stumble over.
//
//go:linkname gitVersion k8s.io/component-base/version.gitVersion
var gitVersion string

// setKubernetesVersion has to run before a component is made.
func setKubernetesVersion() error {
	gitVersion = kubernetesVersion()
	return version.SetDynamicVersion(gitVersion)
}

// kubernetesVersion is the version of k8s.io/kubernetes that is linked in.
func kubernetesVersion() string { return moduleVersion("k8s.io/kubernetes") }

// moduleVersion returns the version of a module that is linked in, "" if it is not.
func moduleVersion(path string) string {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return ""
	}
	for _, dep := range info.Deps {
		if dep.Path == path {
			return dep.Version
		}
	}
	return ""
}
