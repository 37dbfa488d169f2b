package loadgen

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Actions of lines beside those of steps.
const (
	Began    = "began"    // the first line: what was asked for
	Observed = "observed" // the watch showed an object's new state
	Lost     = "lost"     // a watch ended early: the account has a hole, and proves nothing
	Ended    = "ended"    // the last line
)

// Line is a line of an account: a request with the API server's answer, or an observation.
type Line struct {
	At              time.Time  `json:"at"`                 // when it was asked or observed, by this machine's clock
	Answered        *time.Time `json:"answered,omitempty"` // when the API server had answered
	Action          string     `json:"action"`
	Kind            string     `json:"kind,omitempty"`
	Namespace       string     `json:"namespace,omitempty"`
	Name            string     `json:"name,omitempty"`
	UID             string     `json:"uid,omitempty"`
	ResourceVersion string     `json:"resourceVersion,omitempty"`
	Error           string     `json:"error,omitempty"` // what the API server refused, and why
	Force           bool       `json:"force,omitempty"`

	Gone    bool         `json:"gone,omitempty"` // observed: the object was removed
	Created *time.Time   `json:"created,omitempty"`
	Claim   *ClaimState  `json:"claim,omitempty"`
	Volume  *VolumeState `json:"volume,omitempty"`
	Pod     *PodState    `json:"pod,omitempty"`

	Plan   *PlanLine   `json:"plan,omitempty"`   // of Began
	Totals *TotalsLine `json:"totals,omitempty"` // of Ended
}

// PlanLine says what a run was asked for.
type PlanLine struct {
	Run      string  `json:"run"`
	Cluster  string  `json:"cluster"` // UID of the namespace kube-system
	Profile  string  `json:"profile"`
	Seed     uint64  `json:"seed"`
	Volumes  int     `json:"volumes"`
	Claims   int     `json:"claims"`
	Pods     int     `json:"pods"`
	Rate     float64 `json:"rate"`
	Duration string  `json:"duration"`
}

// TotalsLine says what a run has done.
type TotalsLine struct {
	Changes int     `json:"changes"` // that the API server accepted, without those of the cleanup
	Refused int     `json:"refused"`
	Skipped int     `json:"skipped"` // their object was not there
	Seconds float64 `json:"seconds"`
	Rate    float64 `json:"rate"`  // changes a second
	Left    int     `json:"left"`  // objects that still exist
	Lines   int     `json:"lines"` // of the account before this one
}

// ClaimState is what an account says of a claim.
type ClaimState struct {
	Phase    string `json:"phase"`
	Volume   string `json:"volume,omitempty"`
	Request  int64  `json:"requestedBytes"`
	Capacity int64  `json:"capacityBytes,omitempty"`
	Owner    string `json:"owner,omitempty"`
	Pod      string `json:"podUID,omitempty"` // the pod that controls the claim
}

// VolumeState is what an account says of a volume.
type VolumeState struct {
	Phase        string     `json:"phase"`
	PhaseChanged *time.Time `json:"phaseChanged,omitempty"`
	Source       string     `json:"source"`
	Capacity     int64      `json:"capacityBytes"`
	Reclaim      string     `json:"reclaimPolicy"`
	ClaimUID     string     `json:"claimUID,omitempty"`
	ClaimName    string     `json:"claimName,omitempty"`
}

// PodState is what an account says of a pod.
type PodState struct {
	Phase      string           `json:"phase"`
	Node       string           `json:"node,omitempty"`
	Job        string           `json:"job,omitempty"`
	Owner      string           `json:"owner,omitempty"`
	Deleting   bool             `json:"deleting,omitempty"`
	Restarts   bool             `json:"restarts,omitempty"` // a container that has ended runs again: restartPolicy Always
	Containers []ContainerState `json:"containers"`
	Mounts     []MountState     `json:"mounts"`
}

// ContainerState is a container's status.
type ContainerState struct {
	Name     string     `json:"name"`
	Started  *time.Time `json:"started,omitempty"`  // the earliest start that the status shows
	Finished *time.Time `json:"finished,omitempty"` // the end of the present run
	Former   *time.Time `json:"former,omitempty"`   // while the container waits: the end of the run before
}

// MountState is a volume that a container mounts.
type MountState struct {
	Container string `json:"container"`
	Volume    string `json:"volume"` // the name in the pod
	Path      string `json:"path"`
	Claim     string `json:"claim,omitempty"`     // the name of the claim
	Ephemeral bool   `json:"ephemeral,omitempty"` // the claim is the pod's own
	Source    string `json:"source,omitempty"`    // the kind of storage that the pod names itself
}

// account writes lines. Its methods can be called concurrently.
type account struct {
	mu    sync.Mutex
	out   *bufio.Writer
	lines int
	err   error
}

func newAccount(w io.Writer) *account { return &account{out: bufio.NewWriterSize(w, 1<<16)} }

func (a *account) write(l *Line) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if l.Totals != nil {
		l.Totals.Lines = a.lines
	}
	a.lines++
	text, err := json.Marshal(l)
	if a.err == nil && err == nil {
		_, err = a.out.Write(append(text, '\n'))
	}
	a.err = errors.Join(a.err, err)
}

// flush passes the lines on, and returns the first error of writing.
func (a *account) flush() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil {
		a.err = a.out.Flush()
	}
	return a.err
}

// mostLine bounds a line that readAccount reads.
const mostLine = 1 << 20

// readAccount reads the lines of a file, and checks that they are one whole account.
func readAccount(path string) (lines []Line, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--file: %w", err)
	}
	defer f.Close()
	scanner := bufio.NewScanner(f)
	scanner.Buffer(nil, mostLine)
	for n := 1; scanner.Scan(); n++ {
		var l Line
		if err := json.Unmarshal(scanner.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("--file: line %d of %s is no line of an account: %w", n, path, err)
		}
		lines = append(lines, l)
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("--file: %s: %w", path, err)
	}
	if err := checkWhole(lines); err != nil {
		return nil, fmt.Errorf("--file: %s %w; run loadgen again with --output", path, err)
	}
	return lines, nil
}

// checkLines returns how many observations there are; it is an error if one is damaged, or if the account has a hole.
func checkLines(lines []Line) (observed int, err error) {
	for i, l := range lines {
		switch {
		case l.Action == Observed && !l.hasObject():
			return 0, fmt.Errorf("is damaged: line %d is an observation without an object", i+1)
		case l.Action == Lost:
			return 0, fmt.Errorf("has a hole: at %s a watch was lost (%q)", l.At.Format(time.RFC3339), l.Error)
		case l.Action == Began && i > 0 || l.Action == Ended && i < len(lines)-1:
			return 0, fmt.Errorf("has more than one account: line %d is another %q", i+1, l.Action)
		case l.Action == Observed:
			observed++
		}
	}
	return observed, nil
}

// hasObject reports whether an observation is of an object that an account knows: with its name, UID and state.
func (l *Line) hasObject() bool {
	state := map[string]bool{PodKind: l.Pod != nil, ClaimKind: l.Claim != nil, VolumeKind: l.Volume != nil}
	return l.UID != "" && l.Name != "" && state[l.Kind]
}

// checkWhole returns an error unless lines are one whole account, which proves something.
func checkWhole(lines []Line) error {
	n := len(lines) - 1
	if n < 1 || lines[0].Action != Began || lines[0].Plan == nil || lines[n].Action != Ended || lines[n].Totals == nil {
		return fmt.Errorf("is not a whole account of one run: it must begin with the line %q and end with %q", Began, Ended)
	}
	observed, err := checkLines(lines)
	if err != nil {
		return err
	}
	if totals := lines[n].Totals; totals.Lines != n {
		return fmt.Errorf("is not whole: it has %d lines before the last one, and that says %d", n, totals.Lines)
	}
	if observed == 0 {
		return errors.New("proves nothing: no object of the run was observed")
	}
	return nil
}
