// Command localcluster is a whole Kubernetes control plane in one binary, for demos and tests
// on a machine that has neither a container runtime nor a network.
//
// `localcluster up --dir D` starts etcd, kube-apiserver, kube-controller-manager,
// kube-scheduler and kwok, which plays the kubelets, each in a process of its own and
// each the real thing, at the versions that go.mod names. A sixth process, storage,
// plays what a CSI driver and its sidecars do: it provisions and deletes volumes,
// attaches them to nodes and grows them. No byte is stored anywhere. With --kubelet
// there is one node more, which has a real kubelet.
//
// What a reader finds where:
//
//	up.go          the order in which a cluster comes up
//	ready.go       what "ready" means
//	lock.go        one cluster in a directory
//	supervisor.go  child processes: start, watch, restart, stop, never leave one behind
//	components.go  which flags each component gets
//	component.go   the child's side: become that component, end with the parent
//	pki.go         certificate authorities, certificates, kubeconfigs
//	bootstrap.go   what a new cluster is given: nodes, roles, storage classes
//	stages.go      what kwok does with pods and nodes (stages/*.yaml)
//	storage.go     the storage process; provisioner.go, attacher.go, resizer.go its parts
//	kubelet.go     the real kubelet, and what it takes for a machine and a runtime
//	restart.go     taking one component away, and back, while the others run
//
// Everything listens on 127.0.0.1 alone, and all that a cluster needs or writes is in D.
package main

import (
	"errors"
	"fmt"
	"os"
)

const usage = `localcluster runs a real Kubernetes control plane on loopback, for demos and tests.

  localcluster up --dir D [--nodes N] [--kubelet] [--bare] [--exit-with-parent]
      start a cluster whose files are in D, and stay until SIGINT or SIGTERM;
      a directory of a stopped cluster is resumed. When the cluster is ready,
      stdout gets one line:  ready kubeconfig=D/kubeconfig server=https://127.0.0.1:PORT
      With --kubelet there is one node more, kubelet-1, with a real kubelet.
      With --bare it is etcd and kube-apiserver alone, without nodes and without an
      audit log: for measurements, on objects that stay as they were written.
  localcluster restart COMPONENT --dir D [--down DURATION] [--kill] [--feature-gates GATES]
      take one component of a running cluster away, and back on the same port,
      with other feature gates from then on if they are given
  localcluster kubectl ...
      the real kubectl (--kubeconfig or KUBECONFIG as usual)
  localcluster version
  localcluster help

components: etcd kube-apiserver kube-controller-manager kube-scheduler kwok storage kubelet
`

// errUsage marks a mistake on the command line: exit code 2 instead of 1.
var errUsage = errors.New("usage")

func main() {
	args := os.Args[1:]
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	switch args[0] {
	case "up":
		exit(up(args[1:]))
	case "restart":
		exit(restart(args[1:]))
	case "kubectl":
		os.Exit(runKubectl(args[1:]))
	case componentCommand:
		os.Exit(runComponent(args[1:]))
	case "version", "--version":
		fmt.Printf("localcluster: kubernetes %s, etcd %s, kwok %s\n", kubernetesVersion(), moduleVersion("go.etcd.io/etcd/server/v3"), moduleVersion("sigs.k8s.io/kwok"))
	case "help", "--help", "-h":
		fmt.Print(usage)
	default:
		exit(fmt.Errorf("%w: no command %q; see 'localcluster help'", errUsage, args[0]))
	}
}

// exit ends the process: nothing said on success, one line otherwise.
func exit(err error) {
	if err == nil {
		os.Exit(0)
	}
	fmt.Fprintf(os.Stderr, "localcluster: %v\n", err)
	if errors.Is(err, errUsage) {
		os.Exit(2)
	}
	os.Exit(1)
}
