// Package install tests what users install: the Helm chart and the kustomizations. They are rendered by helm and
// kustomize, compared with each other and with what the programs accept, and installed into a real API server, in
// namespaces that enforce the pod security standard "restricted". Nodes are kwok's, so that no container runs: how the
// tracker runs with the rights and the directories of its pod, datadir_test.go and test/e2e show.
package install
