package loadgen

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// The kinds of storage that --kinds chooses from.
const (
	NFS       = "nfs"
	ISCSI     = "iscsi"
	CSI       = "csi"
	Local     = "local"
	Ephemeral = "ephemeral" // generic ephemeral volumes of pods
)

// Kinds returns all kinds of storage.
func Kinds() []string { return []string{NFS, ISCSI, CSI, Local, Ephemeral} }

// Options say what Run makes, and where it writes the account.
type Options struct {
	Kubeconfig, Context string // as of kubectl; empty for the defaults

	Run      string // the run's ID; empty to make one from the time
	Volumes  int    // volumes made by hand, at a time
	Claims   int    // claims at a time
	Pods     int    // pods at a time
	Duration time.Duration
	Rate     float64 // requests a second that change something
	Seed     uint64
	Kinds    []string
	Profile  string
	Cleanup  bool // delete all at the end

	Account  io.Writer // gets the lines
	Progress io.Writer // gets a progress bar, or a line a second
	Terminal bool      // Progress is a terminal that nothing else writes to
}

// maxRate is far more than an API server takes.
const maxRate = 1_000_000

// validate returns the first mistake. It names the flag and the cure.
func (o *Options) validate() error {
	switch {
	case !(o.Rate > 0 && o.Rate <= maxRate): // nor NaN
		return fmt.Errorf("--rate=%g: must be above 0 and at most %d, in changes a second", o.Rate, maxRate)
	case o.Duration <= 0:
		return fmt.Errorf("--duration=%s: must be above 0", o.Duration)
	case o.Volumes < 0 || o.Claims < 0 || o.Pods < 0:
		return errors.New("--volumes, --claims and --pods: must not be below 0")
	case o.Volumes+o.Claims+o.Pods == 0:
		return errors.New("--volumes, --claims and --pods are all 0: there is nothing to make")
	case len(o.Kinds) == 0:
		return fmt.Errorf("--kinds is empty: name some of %s", strings.Join(Kinds(), ","))
	case o.Volumes > 0 && len(o.staticKinds()) == 0:
		return fmt.Errorf("--volumes=%d: --kinds=%s has no kind of volume; add one of nfs,iscsi,csi,local, or use --volumes=0", o.Volumes, strings.Join(o.Kinds, ","))
	}
	for _, kind := range o.Kinds {
		if !slices.Contains(Kinds(), kind) {
			return fmt.Errorf("--kinds: %q is not one of %s", kind, strings.Join(Kinds(), ", "))
		}
	}
	if _, ok := profiles[o.Profile]; !ok {
		return fmt.Errorf("--profile: %q is not one of %s", o.Profile, strings.Join(Profiles(), ", "))
	}
	return nil
}

// staticKinds returns the kinds of the volumes that are made by hand.
func (o *Options) staticKinds() []string {
	return slices.DeleteFunc(slices.Clone(o.Kinds), func(kind string) bool { return kind == Ephemeral })
}
