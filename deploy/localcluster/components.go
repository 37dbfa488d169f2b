package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
)

// The components, by the names that users see in logs, in D/run and in `restart`.
const (
	etcd                  = "etcd"
	kubeAPIServer         = "kube-apiserver"
	kubeControllerManager = "kube-controller-manager"
	kubeScheduler         = "kube-scheduler"
	kwokController        = "kwok"
	storageDriver         = "storage"
	kubelet               = "kubelet"
)

// Addresses inside the cluster. Nothing listens there; they only fill status fields.
const (
	serviceCIDR         = "10.96.0.0/16"
	kubernetesServiceIP = "10.96.0.1"
	podCIDR             = "10.128.0.1/12"
	nodeIP              = "127.10.0.1" // whoever looks for a kubelet there stays on this machine
)

// featureGates that the API server and the controllers have to agree on: claims get the
// Unused condition.
const (
	featureGates     = "PersistentVolumeClaimUnusedSinceTime=true"
	featureGatesFlag = "--feature-gates="
)

//go:embed audit-policy.yaml
var auditPolicy []byte

// layout is where a cluster keeps its files, and on which ports its parts listen.
type layout struct {
	dir                                                                        string
	apiPort, etcdPort, peerPort, controllerManagerPort, schedPort, kubeletPort int
}

func newLayout(dir string) (layout, error) {
	ports, err := freePorts(6)
	if err != nil {
		return layout{}, err
	}
	return layout{dir, ports[0], ports[1], ports[2], ports[3], ports[4], ports[5]}, nil
}

func (l layout) path(names ...string) string {
	return filepath.Join(append([]string{l.dir}, names...)...)
}

func (l layout) pki() pki           { return pki{l.path("pki")} }
func (l layout) kubeconfig() string { return l.path("kubeconfig") }
func (l layout) server() string     { return local(l.apiPort) }

// componentConfig is the kubeconfig of a component.
func (l layout) componentConfig(name string) string { return l.path("pki", name+".kubeconfig") }

func local(port int) string { return fmt.Sprintf("https://127.0.0.1:%d", port) }

// write makes all the files that the components' flags name.
func (l layout) write() error {
	// What is left in run is of a cluster that was killed.
	if err := os.RemoveAll(l.path("run")); err != nil {
		return err
	}
	for _, dir := range []string{"logs", "run", "pki"} {
		if err := os.MkdirAll(l.path(dir), 0o700); err != nil {
			return err
		}
	}
	if err := l.pki().create(); err != nil {
		return fmt.Errorf("certificates: %w", err)
	}
	for _, name := range []string{kubeControllerManager, kubeScheduler, kwokController, storageDriver, kubelet} {
		if err := l.pki().kubeconfig(l.componentConfig(name), name, l.server()); err != nil {
			return fmt.Errorf("kubeconfig of %s: %w", name, err)
		}
	}
	if err := l.pki().kubeconfig(l.kubeconfig(), "admin", l.server()); err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	if err := os.WriteFile(l.path("audit-policy.yaml"), auditPolicy, 0o600); err != nil {
		return err
	}
	stages, err := stageFile()
	if err != nil {
		return err
	}
	return os.WriteFile(l.path("stages.yaml"), stages, 0o600)
}

func (l layout) etcd() []string {
	return []string{
		"--name=localcluster",
		"--data-dir=" + l.path("etcd"),
		"--listen-client-urls=" + local(l.etcdPort),
		"--advertise-client-urls=" + local(l.etcdPort),
		"--listen-peer-urls=" + local(l.peerPort),
		"--initial-advertise-peer-urls=" + local(l.peerPort),
		"--initial-cluster=localcluster=" + local(l.peerPort),
		"--client-cert-auth",
		"--trusted-ca-file=" + l.path("pki", "etcd-ca.crt"),
		"--cert-file=" + l.path("pki", "etcd.crt"),
		"--key-file=" + l.path("pki", "etcd.key"),
		"--peer-client-cert-auth",
		"--peer-trusted-ca-file=" + l.path("pki", "etcd-ca.crt"),
		"--peer-cert-file=" + l.path("pki", "etcd.crt"),
		"--peer-key-file=" + l.path("pki", "etcd.key"),
		// A write outlives the process without it, only not a crash of the machine,
		// which a cluster for demos and tests need not survive; each write is the
		// faster for it.
		"--unsafe-no-fsync",
		"--log-level=warn",
	}
}

func (l layout) apiServer() []string {
	return []string{
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", l.apiPort),
		"--advertise-address=127.0.0.1",
		// The kubernetes service gets no endpoints: loopback is refused as one.
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=" + serviceCIDR,
		"--etcd-servers=" + local(l.etcdPort),
		"--etcd-cafile=" + l.path("pki", "etcd-ca.crt"),
		"--etcd-certfile=" + l.path("pki", "etcd-client.crt"),
		"--etcd-keyfile=" + l.path("pki", "etcd-client.key"),
		"--tls-cert-file=" + l.path("pki", "server.crt"),
		"--tls-private-key-file=" + l.path("pki", "server.key"),
		"--client-ca-file=" + l.path("pki", "ca.crt"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + l.path("pki", "sa.pub"),
		"--service-account-signing-key-file=" + l.path("pki", "sa.key"),
		"--authorization-mode=Node,RBAC",
		"--allow-privileged",
		featureGatesFlag + featureGates,
		"--profiling=false",
		// Told to end, it sends its watchers away instead of waiting a minute for them.
		"--shutdown-watch-termination-grace-period=1s",
	}
}

// audit are the flags by which the API server keeps an audit log.
func (l layout) audit() []string {
	return []string{
		"--audit-log-path=" + l.path("audit.log"),
		"--audit-policy-file=" + l.path("audit-policy.yaml"),
		// Written before the answer is: batches may lose lines when it gets busy.
		"--audit-log-mode=blocking",
	}
}

func (l layout) controllerManager() []string {
	return append(l.served(l.controllerManagerPort),
		"--kubeconfig="+l.componentConfig(kubeControllerManager),
		"--leader-elect=false", // it is alone, and starts the sooner
		// All but those that need a cloud, a kubelet's certificates or metrics.
		"--controllers=*,"+
			"-horizontal-pod-autoscaler-controller,"+
			"-certificatesigningrequest-signing-controller,"+
			"-certificatesigningrequest-approving-controller,"+
			"-certificatesigningrequest-cleaner-controller,"+
			"-node-ipam-controller,"+
			"-node-route-controller,"+
			"-service-lb-controller",
		"--use-service-account-credentials",
		"--service-account-private-key-file="+l.path("pki", "sa.key"),
		"--root-ca-file="+l.path("pki", "ca.crt"),
		featureGatesFlag+featureGates,
		"--kube-api-qps=300",
		"--kube-api-burst=600",
		"--profiling=false",
	)
}

func (l layout) scheduler() []string {
	return append(l.served(l.schedPort),
		"--kubeconfig="+l.componentConfig(kubeScheduler),
		"--leader-elect=false",
		"--kube-api-qps=300",
		"--kube-api-burst=600",
		"--profiling=false",
	)
}

// served is how a component offers its health and metrics.
func (l layout) served(port int) []string {
	return []string{
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port),
		"--tls-cert-file=" + l.path("pki", "server.crt"),
		"--tls-private-key-file=" + l.path("pki", "server.key"),
	}
}

func (l layout) kwok() []string {
	return []string{
		"--kubeconfig=" + l.componentConfig(kwokController),
		"--config=" + l.path("stages.yaml"),
		"--manage-nodes-with-label-selector=" + corev1.LabelInstanceTypeStable + "=" + kwokInstanceType,
		"--cidr=" + podCIDR,
		"--node-ip=" + nodeIP,
		"--node-lease-duration-seconds=40",
		"--v=WARN",
	}
}

func (l layout) storage() []string {
	return []string{"--kubeconfig=" + l.componentConfig(storageDriver)}
}

func (l layout) kubelet() []string {
	return []string{"--dir=" + l.dir, fmt.Sprintf("--port=%d", l.kubeletPort)}
}
