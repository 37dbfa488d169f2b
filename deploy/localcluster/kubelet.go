package main

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	cadvisorapi "github.com/google/cadvisor/info/v2"
	noopoteltrace "go.opentelemetry.io/otel/trace/noop"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	criapitest "k8s.io/cri-api/pkg/apis/testing"
	kubeletapp "k8s.io/kubernetes/cmd/kubelet/app"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	kubeletpkg "k8s.io/kubernetes/pkg/kubelet"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	cadvisortest "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	containertest "k8s.io/kubernetes/pkg/kubelet/container/testing"
	probetest "k8s.io/kubernetes/pkg/kubelet/prober/testing"
	kubeletutil "k8s.io/kubernetes/pkg/kubelet/util"
	"k8s.io/kubernetes/pkg/util/oom"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/configmap"
	"k8s.io/kubernetes/pkg/volume/downwardapi"
	"k8s.io/kubernetes/pkg/volume/emptydir"
	"k8s.io/kubernetes/pkg/volume/hostpath"
	localvolume "k8s.io/kubernetes/pkg/volume/local"
	"k8s.io/kubernetes/pkg/volume/projected"
	"k8s.io/kubernetes/pkg/volume/secret"
	"k8s.io/kubernetes/pkg/volume/util/hostutil"
	"k8s.io/kubernetes/pkg/volume/util/subpath"
	"k8s.io/mount-utils"
)

// The node that has a real kubelet, and the taint that keeps other pods off it.
const (
	kubeletNode  = "kubelet-1"
	kubeletTaint = "localcluster.kubevoltracker.io/kubelet"
)

// maxKubeletDir is how long the path of a cluster's directory may be when it has a
// kubelet, which makes a Unix socket below it: those have 107 characters, all in all.
const maxKubeletDir = 72

// runKubelet is Kubernetes' own kubelet, with its server, its volume manager and its
// volume statistics. The machine below it and the container runtime are not there; what
// stands in for them is what kubemark's hollow nodes have, and a little more where the
// statistics want it.
func runKubelet(args []string) error {
	flags := flag.NewFlagSet(kubelet, flag.ExitOnError)
	dir := flags.String("dir", "", "the cluster's `directory`")
	port := flags.Int("port", 0, "`port` to serve on")
	_ = flags.Parse(args)
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()

	l := layout{dir: *dir, kubeletPort: *port}
	server, err := kubeletServer(l)
	if err != nil {
		return err
	}
	deps, err := kubeletDependencies(ctx, l, server)
	if err != nil {
		return err
	}
	if err := kubeletapp.RunKubelet(ctx, server, deps); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// kubeletServer is how the kubelet is configured.
func kubeletServer(l layout) (*options.KubeletServer, error) {
	s, err := options.NewKubeletServer()
	if err != nil {
		return nil, err
	}
	s.RootDirectory = l.path(kubelet)
	s.CertDirectory = l.path(kubelet, "pki")
	s.PodLogsDir = l.path(kubelet, "logs")
	s.HostnameOverride = kubeletNode
	// See createKubeletNode.
	s.RegisterNode, s.CloudProvider = false, "external"

	s.Address, s.Port, s.ReadOnlyPort = "127.0.0.1", int32(l.kubeletPort), 0
	s.TLSCertFile, s.TLSPrivateKeyFile = l.path("pki", "server.crt"), l.path("pki", "server.key")
	s.Authentication.Anonymous.Enabled = false
	s.Authentication.Webhook.Enabled = true
	s.Authentication.X509.ClientCAFile = l.path("pki", "ca.crt")
	s.Authorization.Mode = kubeletconfig.KubeletAuthorizationModeWebhook
	// A test that gives or takes a right does not wait for minutes.
	s.Authentication.Webhook.CacheTTL = metav1.Duration{Duration: time.Second}
	s.Authorization.Webhook.CacheAuthorizedTTL = metav1.Duration{Duration: time.Second}
	s.Authorization.Webhook.CacheUnauthorizedTTL = metav1.Duration{Duration: time.Second}
	s.VolumeStatsAggPeriod = metav1.Duration{Duration: time.Second}

	// The machine is not the kubelet's: no packet filter, no cgroups, nobody evicted
	// because its disk is full, no containers' logs to rotate.
	s.MakeIPTablesUtilChains = false
	s.CgroupsPerQOS = false
	s.EnforceNodeAllocatable = nil
	s.LocalStorageCapacityIsolation = false
	s.EvictionHard = nil
	s.ImageGCHighThresholdPercent = 100
	s.ResolverConfig = ""
	s.ContainerLogMonitorInterval = metav1.Duration{Duration: 24 * time.Hour}
	return s, nil
}

// kubeletDependencies is what the kubelet works with: the API server, and a machine.
func kubeletDependencies(ctx context.Context, l layout, s *options.KubeletServer) (*kubeletpkg.Dependencies, error) {
	config, err := clientcmd.BuildConfigFromFlags("", l.componentConfig(kubelet))
	if err != nil {
		return nil, err
	}
	config.UserAgent = kubelet
	config.QPS, config.Burst = 300, 600
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	auth, watchCA, err := kubeletapp.BuildAuth(types.NodeName(kubeletNode), client, s.KubeletConfiguration)
	if err != nil {
		return nil, err
	}
	watchCA(ctx.Done())
	tls, err := kubeletapp.InitializeTLS(ctx, &s.KubeletFlags, &s.KubeletConfiguration)
	if err != nil {
		return nil, err
	}

	runtime := fakeRuntime{criapitest.NewFakeRuntimeService()}
	runtime.FakeStatus = &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{
		{Type: runtimeapi.RuntimeReady, Status: true},
		{Type: runtimeapi.NetworkReady, Status: true},
	}}
	images := criapitest.NewFakeImageService()
	images.SetFakeFilesystemUsage([]*runtimeapi.FilesystemUsage{{
		FsId:      &runtimeapi.FilesystemIdentifier{Mountpoint: s.RootDirectory},
		UsedBytes: &runtimeapi.UInt64Value{},
	}})
	return &kubeletpkg.Dependencies{
		Auth:                 auth,
		TLSOptions:           tls,
		KubeClient:           client,
		HeartbeatClient:      client,
		RemoteRuntimeService: runtime,
		RemoteImageService:   images,
		CAdvisorInterface:    fakeMachine{&cadvisortest.Fake{NodeName: kubeletNode}},
		ContainerManager:     cm.NewStubContainerManager(),
		// The real one wants to write to /var/log.
		OSInterface:               &containertest.FakeOS{},
		OOMAdjuster:               oom.NewFakeOOMAdjuster(),
		ProbeManager:              probetest.FakeManager{},
		VolumePlugins:             volumePlugins(),
		Mounter:                   linkMounter{mount.NewFakeMounter(nil)},
		Subpather:                 &subpath.FakeSubpath{},
		HostUtil:                  hostUtil{hostutil.NewHostUtil()},
		PodStartupLatencyTracker:  kubeletutil.NewPodStartupLatencyTracker(),
		NodeStartupLatencyTracker: kubeletutil.NewNodeStartupLatencyTracker(),
		TracerProvider:            noopoteltrace.NewTracerProvider(),
		// With another one the kubelet would read the kernel's log.
		Recorder: &record.FakeRecorder{},
	}, nil
}

// volumePlugins are those that can do here what they do elsewhere. Pods with other
// volumes wait for them.
func volumePlugins() []volume.VolumePlugin {
	return slices.Concat(
		localvolume.ProbeVolumePlugins(),
		hostpath.ProbeVolumePlugins(volume.VolumeConfig{}),
		emptydir.ProbeVolumePlugins(),
		configmap.ProbeVolumePlugins(),
		secret.ProbeVolumePlugins(),
		downwardapi.ProbeVolumePlugins(),
		projected.ProbeVolumePlugins(),
	)
}

// fakeRuntime keeps books about containers, and runs none.
type fakeRuntime struct{ *criapitest.FakeRuntimeService }

// ListContainerStats names each container, and has no numbers for it: a pod of which no
// container is named here is not in the kubelet's statistics, nor are its volumes.
func (r fakeRuntime) ListContainerStats(ctx context.Context, filter *runtimeapi.ContainerStatsFilter) ([]*runtimeapi.ContainerStats, error) {
	containers, err := r.ListContainers(ctx, &runtimeapi.ContainerFilter{
		Id:            filter.Id,
		PodSandboxId:  filter.PodSandboxId,
		LabelSelector: filter.LabelSelector,
	})
	if err != nil {
		return nil, err
	}
	stats := make([]*runtimeapi.ContainerStats, len(containers))
	for i, c := range containers {
		stats[i] = &runtimeapi.ContainerStats{Attributes: &runtimeapi.ContainerAttributes{Id: c.Id, Metadata: c.Metadata, Labels: c.Labels}}
	}
	return stats, nil
}

// fakeMachine has no numbers about the machine, where the statistics are refused
// without any.
type fakeMachine struct{ *cadvisortest.Fake }

func (fakeMachine) ContainerInfoV2(name string, _ cadvisorapi.RequestOptions) (map[string]cadvisorapi.ContainerInfo, error) {
	return map[string]cadvisorapi.ContainerInfo{name: {Stats: []*cadvisorapi.ContainerStats{{Timestamp: time.Now()}}}}, nil
}

// hostUtil is the real one, except that it leaves the mount of the kubelet's directory
// alone.
type hostUtil struct{ *hostutil.HostUtil }

func (hostUtil) MakeRShared(string) error { return nil }

// linkMounter mounts a directory in another place by a symbolic link there. Who asks
// about the filesystem in that place hears about the directory's, as with a bind mount;
// but it takes no root, and a kubelet that was killed leaves nothing mounted.
type linkMounter struct{ *mount.FakeMounter }

func (linkMounter) MountSensitiveWithoutSystemd(source, target, _ string, options, _ []string) error {
	if !slices.Contains(options, "bind") {
		return nil // a tmpfs for secrets and the like: they are in the directory itself
	}
	if err := os.Remove(target); err != nil {
		return err
	}
	return os.Symlink(source, target)
}

func (linkMounter) Unmount(target string) error {
	if err := os.Remove(target); err != nil {
		return err
	}
	return os.Mkdir(target, 0o750)
}

func (linkMounter) IsLikelyNotMountPoint(path string) (bool, error) {
	info, err := os.Lstat(path)
	return err != nil || info.Mode().Type() != os.ModeSymlink, err
}

func (m linkMounter) IsMountPoint(path string) (bool, error) {
	not, err := m.IsLikelyNotMountPoint(path)
	return !not, err
}
