package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// patience is how long a cluster may take to come up. It takes five seconds on two idle
// cores; the rest is for machines that are busy compiling.
const patience = 2 * time.Minute

// upFlags say what cluster to bring up.
type upFlags struct {
	dir                       string // absolute
	nodes                     int
	kubelet, bare, withParent bool
}

func parseUp(args []string) (f upFlags, err error) {
	flags := flag.NewFlagSet("up", flag.ContinueOnError)
	flags.SetOutput(os.Stderr)
	flags.StringVar(&f.dir, "dir", "", "`directory` for all that the cluster needs and writes")
	flags.IntVar(&f.nodes, "nodes", 3, "`number` of nodes")
	flags.BoolVar(&f.kubelet, "kubelet", false, "one node more, kubelet-1, with a real kubelet")
	flags.BoolVar(&f.bare, "bare", false, "etcd and kube-apiserver alone, without nodes and without an audit log")
	flags.BoolVar(&f.withParent, "exit-with-parent", false, "stop when the process that started this one goes away")
	if err := parse(flags, args); err != nil {
		return f, err
	}
	switch {
	case f.dir == "":
		return f, fmt.Errorf("%w: --dir is missing: a directory for the cluster's files", errUsage)
	case f.nodes < 1 || f.nodes > 1000:
		return f, fmt.Errorf("%w: --nodes must be between 1 and 1000, not %d", errUsage, f.nodes)
	case f.bare && f.kubelet:
		return f, fmt.Errorf("%w: a --bare cluster is without nodes, and without a --kubelet", errUsage)
	}
	if f.dir, err = filepath.Abs(f.dir); err != nil {
		return f, err
	}
	if f.kubelet && len(f.dir) > maxKubeletDir {
		return f, fmt.Errorf("%w: with --kubelet the path of --dir may have %d characters, not %d: %s", errUsage, maxKubeletDir, len(f.dir), f.dir)
	}
	return f, nil
}

// up starts the cluster, says that it is ready, and stays until a signal, the end of the
// process that started it (if asked to watch it), or the end of a component.
func up(args []string) error {
	f, err := parseUp(args)
	if err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if f.withParent {
		go endWithParent(os.Getppid(), cancel)
	}

	lock, err := lockDirectory(f.dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	l, err := newLayout(f.dir)
	if err != nil {
		return err
	}
	if err := l.write(); err != nil {
		return err
	}
	s, err := newSupervisor(l)
	if err != nil {
		return err
	}
	defer s.stop()

	// What ends a component ends the wait for it to come up, too.
	failed := make(chan error, 1)
	go func() {
		failed <- s.watch(ctx.Done())
		cancel()
	}()
	if err := bringUp(ctx, s, &f); err != nil && ctx.Err() == nil {
		return err
	} else if err == nil {
		fmt.Printf("ready kubeconfig=%s server=%s\n", l.kubeconfig(), l.server())
	}
	<-ctx.Done()
	return <-failed
}

// parse reads flags and turns what is wrong with them into a usage error.
func parse(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	} else if err != nil {
		os.Exit(2) // the flag package has said why
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%w: %q is not a flag of %s", errUsage, flags.Arg(0), flags.Name())
	}
	return nil
}

// endWithParent calls stop when the process that started this one is gone.
func endWithParent(parent int, stop func()) {
	for os.Getppid() == parent {
		time.Sleep(250 * time.Millisecond)
	}
	stop()
}

// bringUp starts the components, each when what it needs is there, and returns when a
// claim would be provisioned and a pod would run; a bare one, when the API server is ready.
func bringUp(ctx context.Context, s *supervisor, f *upFlags) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("the cluster did not come up"))
	defer cancel()
	l := s.layout
	began := time.Now()

	say("starting etcd and kube-apiserver in %s", l.dir)
	if err := s.start(etcd, l.etcd()); err != nil {
		return err
	}
	apiServer := l.apiServer()
	if !f.bare {
		apiServer = append(apiServer, l.audit()...)
	}
	if err := s.start(kubeAPIServer, apiServer); err != nil {
		return err
	}
	client, config, err := l.adminClient()
	if err != nil {
		return err
	}
	if err := waitFor(ctx, kubeAPIServer, func(ctx context.Context) error { return ready(ctx, client) }); err != nil {
		return err
	}

	if f.bare {
		say("ready after %.1fs", time.Since(began).Seconds())
		return nil
	}

	say("kube-apiserver is ready after %.1fs; starting the controllers", time.Since(began).Seconds())
	if err := startNodes(ctx, s, client, f); err != nil {
		return err
	}
	if err := awaitNodes(ctx, l, client, config, f); err != nil {
		return err
	}
	say("ready after %.1fs", time.Since(began).Seconds())
	return nil
}

// startNodes starts the controllers, the scheduler and the kubelets, and creates the objects that they need.
func startNodes(ctx context.Context, s *supervisor, client kubernetes.Interface, f *upFlags) error {
	l := s.layout
	if err := createRoles(ctx, client); err != nil {
		return err
	}
	for name, args := range map[string][]string{
		kubeControllerManager: l.controllerManager(),
		kubeScheduler:         l.scheduler(),
		kwokController:        l.kwok(),
		storageDriver:         l.storage(),
	} {
		if err := s.start(name, args); err != nil {
			return err
		}
	}
	if err := createNodes(ctx, client, f.nodes); err != nil {
		return err
	}
	if f.kubelet {
		if err := createKubeletNode(ctx, client); err != nil {
			return err
		}
		if err := s.start(kubelet, l.kubelet()); err != nil {
			return err
		}
	}
	return createClasses(ctx, client)
}

// awaitNodes waits until all that startNodes has started is ready.
func awaitNodes(ctx context.Context, l layout, client kubernetes.Interface, config *rest.Config, f *upFlags) error {
	type step struct {
		what string
		test func(context.Context) error
	}
	steps := []step{
		{kubeControllerManager, func(ctx context.Context) error { return healthy(ctx, config, l.controllerManagerPort, "/healthz") }},
		{kubeScheduler, func(ctx context.Context) error { return healthy(ctx, config, l.schedPort, "/readyz") }},
		{"the default service account", func(ctx context.Context) error {
			_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
			return err
		}},
		{"the nodes", func(ctx context.Context) error { return nodesReady(ctx, client, f.nodes) }},
	}
	if f.kubelet {
		steps = append(steps,
			step{kubelet, func(ctx context.Context) error { return healthy(ctx, config, l.kubeletPort, "/healthz") }},
			step{"node " + kubeletNode, func(ctx context.Context) error { return kubeletReady(ctx, client, l.kubeletPort) }})
	}
	for _, step := range steps {
		if err := waitFor(ctx, step.what, step.test); err != nil {
			return err
		}
	}
	return nil
}

// say reports progress, on stderr: stdout is for the one line that programs wait for.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "localcluster: "+format+"\n", args...)
}
