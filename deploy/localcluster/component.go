package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kwokconfig "sigs.k8s.io/kwok/pkg/config"
	kwok "sigs.k8s.io/kwok/pkg/kwok/cmd"
	kwoklog "sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/signals"
)

// componentCommand is the hidden command by which up starts itself again as a
// component. They are processes, not goroutines, because each believes that the flags,
// the feature gates, the metrics registry and the right to exit are its own.
const componentCommand = "component"

// lifelineFD is the descriptor on which a component sees its supervisor go.
const lifelineFD = 3

// runComponent turns this process into the component that args names, with the flags
// that follow, and returns its exit code.
func runComponent(args []string) int {
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "localcluster: 'component' is how 'up' starts its parts, and nothing to call by hand")
		return 2
	}
	go endWithSupervisor(os.NewFile(lifelineFD, "lifeline"))
	if err := setKubernetesVersion(); err != nil {
		fmt.Fprintln(os.Stderr, "localcluster:", err)
		return 1
	}

	os.Args = args
	switch name := args[0]; name {
	case etcd:
		etcdmain.Main(os.Args)
		return 0
	case kubeAPIServer:
		return cli.Run(apiserver.NewAPIServerCommand())
	case kubeControllerManager:
		return cli.Run(controllermanager.NewControllerManagerCommand())
	case kubeScheduler:
		return cli.Run(scheduler.NewSchedulerCommand())
	case kwokController:
		return report(name, runKwok())
	case storageDriver:
		return report(name, runStorage(args[1:]))
	case kubelet:
		return report(name, runKubelet(args[1:]))
	default:
		return report(name, errors.New("no such component"))
	}
}

// endWithSupervisor ends the process as soon as the other end of the pipe is closed,
// which the kernel does even for a supervisor that was killed. There is nothing to
// clean up: state is in etcd's files, which survive the end of a process.
func endWithSupervisor(lifeline *os.File) {
	_, _ = io.Copy(io.Discard, lifeline)
	os.Exit(1)
}

func report(name string, err error) int {
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		return 1
	}
	return 0
}

// runKwok does what kwok's own main does.
func runKwok() error {
	flags := pflag.NewFlagSet("global", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}
	ctx, _ := kwoklog.InitFlags(signals.SetupSignalContext(), flags)
	ctx, err := kwokconfig.InitFlags(ctx, flags)
	if err != nil {
		return err
	}
	command := kwok.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(flags)
	// Kubernetes' packages have put a flag of that name, and another type, on the command
	// line of every cobra command in this binary.
	command.Version = ""
	return command.ExecuteContext(ctx)
}

// runKubectl is kubectl's own main, with its own error lines and exit codes.
func runKubectl(args []string) int {
	if err := setKubernetesVersion(); err != nil {
		fmt.Fprintln(os.Stderr, "localcluster:", err)
		return 1
	}
	os.Args = append([]string{"kubectl"}, args...)
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
	return 0
}
