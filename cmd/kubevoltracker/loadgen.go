package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kingpin/v2"
	"github.com/go-logr/logr"
	"golang.org/x/term"
	"k8s.io/klog/v2"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/cmd/kubevoltracker/app"
	"github.com/kubevoltracker/kubevoltracker/cmd/kubevoltracker/loadgen"
)

// loadgenHelp is the help of the command "loadgen".
const loadgenHelp = "Make storage churn in a test cluster, and compare a catalog with what was made. The cluster must have the namespace " +
	loadgen.Namespace + " with the label " + loadgen.Marker + "=true; any other is refused."

func addLoadgen(application *kingpin.Application, commands map[string]command, stdout, stderr io.Writer) {
	parent := application.Command("loadgen", loadgenHelp)
	addChurn(parent, commands, stdout, stderr)
	addVerify(parent, commands, stdout, stderr)
	addClean(parent, commands, stdout)
}

func addKubeFlags(cmd *kingpin.CmdClause, kubeconfig, contextName *string) {
	cmd.Flag("kube.kubeconfig", "Kubeconfig file; default: $KUBECONFIG or ~/.kube/config.").ExistingFileVar(kubeconfig)
	cmd.Flag("kube.context", "Context of the kubeconfig; default: its current one.").StringVar(contextName)
}

func addChurn(parent *kingpin.CmdClause, commands map[string]command, stdout, stderr io.Writer) {
	cmd := parent.Command("churn", "Create, change and delete volumes, claims and pods, and print each request and each observed change as a line of JSON. The command may be left out: loadgen --rate=100.").Default()
	o := &loadgen.Options{}
	var kinds, output string
	addKubeFlags(cmd, &o.Kubeconfig, &o.Context)
	cmd.Flag("volumes", "How many volumes made by hand there are at a time.").Default("40").IntVar(&o.Volumes)
	cmd.Flag("claims", "How many claims there are at a time; those for which there is no volume get one of the default StorageClass.").Default("100").IntVar(&o.Claims)
	cmd.Flag("pods", "How many pods there are at a time.").Default("100").IntVar(&o.Pods)
	cmd.Flag("duration", "For how long.").Default("1m").DurationVar(&o.Duration)
	cmd.Flag("rate", "Most changes a second that are asked of the API server.").Default("20").Float64Var(&o.Rate)
	cmd.Flag("seed", "The same seed, with the same other flags, plans the same changes.").Default("1").Uint64Var(&o.Seed)
	cmd.Flag("kinds", "Kinds of storage, with commas between them: "+strings.Join(loadgen.Kinds(), ", ")+".").Default(strings.Join(loadgen.Kinds(), ",")).StringVar(&kinds)
	addChoice(cmd.Flag("profile", "How the objects live: "+strings.Join(loadgen.Profiles(), ", ")+".").Default("steady"), loadgen.Profiles(), &o.Profile)
	cmd.Flag("cleanup", "Delete all at the end, and at the first Ctrl-C.").Default("true").BoolVar(&o.Cleanup)
	cmd.Flag("output", "File for the lines, besides the standard output; loadgen verify reads it.").Short('o').StringVar(&output)
	commands[cmd.FullCommand()] = func() error {
		o.Kinds = strings.FieldsFunc(kinds, func(r rune) bool { return r == ',' })
		return churn(o, output, stdout, stderr)
	}
}

// churn runs the load generator. The first SIGINT or SIGTERM ends it in order, a second one at once.
func churn(o *loadgen.Options, output string, stdout, stderr io.Writer) (err error) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	abort, stopNow := context.WithCancel(context.Background())
	defer stopNow()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP) // a terminal that is closed, too
	defer signal.Stop(signals)
	signal.Ignore(syscall.SIGPIPE) // whoever reads the lines may have left: the write fails, and the run cleans up
	defer signal.Reset(syscall.SIGPIPE)
	go func() {
		<-signals
		stop()
		<-signals
		stopNow()
	}()

	klog.SetLogger(logr.Discard()) // what matters comes back as an error
	shown := isTerminal(stdout)
	o.Account, o.Progress, o.Terminal = stdout, stderr, isTerminal(stderr)
	if output != "" {
		var file *os.File
		if file, err = os.OpenFile(output, os.O_WRONLY|os.O_CREATE, 0o600); err != nil {
			return app.UsageError{Err: fmt.Errorf("--output: %w", err)}
		}
		f := &accountFile{File: file}
		defer func() { err = errors.Join(err, f.Close()) }()
		o.Account = io.MultiWriter(stdout, f)
		if shown { // the terminal is for the bar
			o.Account = f
		}
	} else if shown {
		o.Terminal = false // the bar would be torn by the lines
	}
	return usage(loadgen.Run(ctx, abort, *o))
}

// accountFile is emptied by its first line: a run that is refused leaves the account that was there.
type accountFile struct {
	*os.File
	begun bool
}

func (f *accountFile) Write(text []byte) (int, error) {
	if !f.begun {
		f.begun = true
		if info, err := f.Stat(); err != nil || info.Mode().IsRegular() {
			if err := errors.Join(err, f.Truncate(0)); err != nil {
				return 0, err
			}
		}
	}
	return f.File.Write(text)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// usage marks the mistakes of the user.
func usage(err error) error {
	var mistake loadgen.UsageError
	if errors.As(err, &mistake) {
		return app.UsageError{Err: err}
	}
	return err
}

func addVerify(parent *kingpin.CmdClause, commands map[string]command, stdout, stderr io.Writer) {
	cmd := parent.Command("verify", "Compare a catalog with the lines of a run: all that they prove must be there once, with the right values, and nothing else of the run. Exits with 1 if not.")
	file := cmd.Flag("file", "File with the lines of the run.").Required().String()
	cluster := cmd.Flag("cluster", "Name of the cluster in the catalog; default: all clusters.").String()
	exact := cmd.Flag("exact", "Fail also if a moment has wide bounds: the tracker has watched all the time.").Bool()
	where := addCatalogFlags(cmd, defaultCatalogURL, "")
	commands[cmd.FullCommand()] = func() error {
		return where.ask(func(ctx context.Context, c *catalog.Catalog) error {
			verdict, err := loadgen.Verify(ctx, c, *file, *cluster, stderr)
			if err != nil {
				return usage(err)
			}
			if err := verdict.Write(stdout); err != nil {
				return err
			}
			if !verdict.Good() {
				return fmt.Errorf("the catalog differs from %s", *file)
			}
			if *exact && verdict.Bounded > 0 {
				return fmt.Errorf("%d moments have wide bounds, and --exact was asked for", verdict.Bounded)
			}
			return nil
		})
	}
}

func addClean(parent *kingpin.CmdClause, commands map[string]command, stdout io.Writer) {
	cmd := parent.Command("clean", "Delete what runs have left.")
	var kubeconfig, contextName string
	addKubeFlags(cmd, &kubeconfig, &contextName)
	run := cmd.Flag("run", "ID of the run; default: all runs.").String()
	commands[cmd.FullCommand()] = func() error {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		return usage(loadgen.Clean(ctx, kubeconfig, contextName, *run, stdout))
	}
}
