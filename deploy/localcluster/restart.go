package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

var componentNames = []string{etcd, kubeAPIServer, kubeControllerManager, kubeScheduler, kwokController, storageDriver, kubelet}

// restart asks the supervisor of the cluster in D to let one component end and to start
// it again on the same ports, as after an upgrade or a crash of it, and returns when the
// new process runs and the API server, restarted or not, is ready.
//
// The request is a file beside the pid file that holds how long the component stays away,
// and the feature gates that it has from then on, if they change: the supervisor, told by
// the kernel that the component has ended, looks for it.
func restart(args []string) error {
	flags := flag.NewFlagSet("restart", flag.ContinueOnError)
	flags.SetOutput(os.Stderr)
	dir := flags.String("dir", "", "the cluster's `directory`")
	down := flags.Duration("down", 0, "how long the component stays away")
	kill := flags.Bool("kill", false, "SIGKILL instead of SIGTERM")
	gates := flags.String("feature-gates", "", "the component's feature `gates` from now on; as they were if empty")
	if len(args) == 0 || !slices.Contains(componentNames, args[0]) {
		return fmt.Errorf("%w: restart needs a component first: %s", errUsage, strings.Join(componentNames, ", "))
	}
	name := args[0]
	if err := parse(flags, args[1:]); err != nil {
		return err
	}
	if *dir == "" {
		return fmt.Errorf("%w: --dir is missing: the directory that 'up' was given", errUsage)
	}

	l := layout{dir: *dir}
	if !inUse(l.dir) {
		return fmt.Errorf("no cluster runs in %s", l.dir)
	}
	pid, err := readPID(l, name)
	if err != nil {
		return fmt.Errorf("no %s runs in %s: %w", name, l.dir, err)
	}
	if err := os.WriteFile(restartRequest(l, name), []byte(down.String()+"\n"+*gates), 0o600); err != nil {
		return err
	}
	signal := syscall.SIGTERM
	if *kill {
		signal = syscall.SIGKILL
	}
	if err := syscall.Kill(pid, signal); err != nil {
		_ = os.Remove(restartRequest(l, name))
		return fmt.Errorf("%s (pid %d): %w", name, pid, err)
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), *down+patience, errors.New("it did not come back"))
	defer cancel()
	if err := waitFor(ctx, name, func(context.Context) error {
		if now, err := readPID(l, name); err != nil || now == pid {
			return fmt.Errorf("process %d is the last one", pid)
		}
		return nil
	}); err != nil {
		return err
	}
	client, _, err := l.adminClient()
	if err != nil {
		return err
	}
	return waitFor(ctx, kubeAPIServer, func(ctx context.Context) error { return ready(ctx, client) })
}

func restartRequest(l layout, name string) string { return l.path("run", name+".restart") }

// takeRestartRequest returns how long name is to stay away, if a restart was asked for, and
// its new feature gates, if they change, and forgets the request.
func takeRestartRequest(l layout, name string) (down time.Duration, gates string, asked bool) {
	data, err := os.ReadFile(restartRequest(l, name))
	if err != nil {
		return 0, "", false
	}
	_ = os.Remove(restartRequest(l, name))
	text, gates, _ := strings.Cut(string(data), "\n")
	down, err = time.ParseDuration(text)
	return down, gates, err == nil
}

// withGates returns a component's flags with other feature gates.
func withGates(args []string, gates string) []string {
	if gates == "" {
		return args
	}
	args = slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return strings.HasPrefix(arg, featureGatesFlag) })
	return append(args, featureGatesFlag+gates)
}

func readPID(l layout, name string) (int, error) {
	data, err := os.ReadFile(l.path("run", name+".pid"))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(data)))
}
