package collector

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	statsv1alpha1 "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
)

// Limits of a kubelet's answer. The answer of a node with 110 pods has some hundred kilobytes. The
// tracker holds one value of an answer in memory, and the samples of claims: 10,000 samples with the
// longest names that Kubernetes allows take 10 MB.
const (
	answerBytes  = 16 << 20
	valueBytes   = 1 << 20 // of one value that is read or skipped as a whole: a pod's containers
	answerClaims = 10_000
	nameBytes    = 253 // of the name of a pod or a claim: a DNS subdomain
	labelBytes   = 63  // of the name of a namespace or a volume in a pod, a DNS label, and of a UID
)

// summary reads a kubelet's statsv1alpha1.Summary as a stream. It skips most of it, which is about
// processors and memory.
type summary struct {
	*json.Decoder
	window *window
	node   string

	nodeName    string // whose summary it is, as it says itself
	samples     []inventory.Sample
	implausible int // figures of claims' volumes
}

// readAnswer returns the samples of claims' volumes in the answer of a node's kubelet. implausible
// is the number of volumes whose figures cannot be.
func readAnswer(node string, body io.Reader) (samples []inventory.Sample, implausible int, err error) {
	w := &window{body: body}
	a := &summary{Decoder: json.NewDecoder(w), window: w, node: node}
	err = a.object(func(key string) error {
		switch key {
		case "node":
			return a.nodeStats()
		case "pods":
			return a.array(a.pod)
		default:
			return a.skip()
		}
	})
	switch {
	case err != nil:
		return nil, 0, fmt.Errorf("its answer is no summary of statistics: %w", shortened(err))
	case a.nodeName != "" && a.nodeName != node: // the address was the node's before
		return nil, 0, fmt.Errorf("its answer is that of node %.253q", a.nodeName)
	}
	return a.samples, a.implausible, nil
}

// shortened returns err, or the first 300 bytes of its text: encoding/json quotes the answer.
func shortened(err error) error {
	if text := err.Error(); len(text) > 300 {
		return errors.New(text[:300] + "…")
	}
	return err
}

// nodeStats reads the name in a statsv1alpha1.NodeStats.
func (a *summary) nodeStats() error {
	var stats struct{ NodeName string }
	err := a.value(&stats)
	a.nodeName = stats.NodeName
	return err
}

// pod reads a statsv1alpha1.PodStats.
func (a *summary) pod() error {
	var ref statsv1alpha1.PodReference
	first := len(a.samples)
	err := a.object(func(key string) error {
		switch key {
		case "podRef":
			return a.value(&ref)
		case "volume":
			return a.array(a.volume)
		default:
			return a.skip()
		}
	})
	if len(ref.UID) > labelBytes || len(ref.Namespace) > labelBytes || len(ref.Name) > nameBytes {
		return errLongName
	}
	for i := range a.samples[first:] {
		s := &a.samples[first+i]
		s.PodUID, s.Namespace, s.Pod = ref.UID, ref.Namespace, ref.Name
	}
	return err
}

// volume reads a statsv1alpha1.VolumeStats.
func (a *summary) volume() error {
	var v statsv1alpha1.VolumeStats
	if err := a.value(&v); err != nil || v.PVCRef == nil || v.UsedBytes == nil || v.Time.IsZero() {
		return err
	}
	if len(a.samples) == answerClaims {
		return fmt.Errorf("it has more than %d volumes of claims", answerClaims)
	}
	if len(v.Name) > labelBytes || len(v.PVCRef.Namespace) > labelBytes || len(v.PVCRef.Name) > nameBytes {
		return errLongName
	}
	space, ok := spaceOf(&v.FsStats)
	if !ok {
		a.implausible++
		return nil
	}
	a.samples = append(a.samples, inventory.Sample{
		Node: a.node, Volume: v.Name, ClaimNamespace: v.PVCRef.Namespace, Claim: v.PVCRef.Name, At: fact.At(v.Time.Time), Space: space,
	})
	return nil
}

// spaceOf returns a kubelet's figures for a volume. ok is false if they are implausible: some drivers
// report a negative number, which arrives as a huge unsigned one, and for a driver that reports no
// bytes, a kubelet reports 0 for each of them.
func spaceOf(s *statsv1alpha1.FsStats) (space fact.Space, ok bool) {
	ok = true
	number := func(n *uint64) int64 {
		switch {
		case n == nil:
			return 0
		case *n > math.MaxInt64:
			ok = false
			return 0
		default:
			return int64(*n)
		}
	}
	space = fact.Space{
		CapacityBytes: number(s.CapacityBytes), UsedBytes: number(s.UsedBytes), AvailableBytes: number(s.AvailableBytes),
		Inodes: number(s.Inodes), InodesUsed: number(s.InodesUsed),
	}
	return space, ok && space.CapacityBytes > 0
}

var (
	errLongName   = errors.New("it has a name that is longer than Kubernetes allows")
	errLongValue  = fmt.Errorf("one of its values has more than %d MiB", valueBytes>>20)
	errLongAnswer = fmt.Errorf("it has more than %d MiB", answerBytes>>20)
)

// window ends the reading of an answer that is too long, and of one in which a single value is.
// json.Decoder has a value in memory until its end.
type window struct {
	body       io.Reader
	read, from int64 // bytes that were read; where the present value begins
}

func (w *window) Read(p []byte) (int, error) {
	switch room := min(answerBytes, w.from+valueBytes) - w.read; {
	case w.read == answerBytes:
		return 0, errLongAnswer
	case room <= 0:
		return 0, errLongValue
	default:
		n, err := w.body.Read(p[:min(int64(len(p)), room)])
		w.read += int64(n)
		return n, err
	}
}

// object reads an object, or null, and calls field for each key; field reads the value.
func (a *summary) object(field func(key string) error) error {
	return a.each('{', func() error {
		key, err := a.token()
		if err != nil {
			return err
		}
		return field(fmt.Sprint(key)) // the decoder takes nothing but strings for keys
	})
}

// array reads an array, or null, and calls element for each element, which reads it.
func (a *summary) array(element func() error) error { return a.each('[', element) }

func (a *summary) each(open json.Delim, read func() error) error {
	switch begin, err := a.token(); {
	case err != nil:
		return err
	case begin == nil:
		return nil
	case begin != open:
		return fmt.Errorf("it has %.20q in the place of %q", fmt.Sprint(begin), open)
	}
	for a.More() {
		if err := read(); err != nil {
			return err
		}
	}
	_, err := a.token()
	return err
}

func (a *summary) token() (json.Token, error) {
	t, err := a.Token()
	a.window.from = a.InputOffset()
	return t, unexpected(err)
}

// value reads a value as a whole.
func (a *summary) value(into any) error {
	err := a.Decode(into)
	a.window.from = a.InputOffset()
	return unexpected(err)
}

// skip reads a value and drops it.
func (a *summary) skip() error { return a.value(&skipped{}) }

type skipped struct{}

func (*skipped) UnmarshalJSON([]byte) error { return nil }

// unexpected returns err, with the end of the answer as an error: it ends before its object does.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
