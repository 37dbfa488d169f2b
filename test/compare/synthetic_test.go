package compare

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubevoltracker/kubevoltracker/cmd/kubevoltracker/app"
	"github.com/kubevoltracker/kubevoltracker/collector"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
	"github.com/kubevoltracker/kubevoltracker/collector/redact"
	"github.com/kubevoltracker/kubevoltracker/exporter"
)

// TestSynthetic measures inventory and exporter on more objects than an API server here can hold in a reasonable
// time: up to 100,000 volumes with their claims, and 150,000 pods. They run in a process of their own,
// TestSyntheticProcess, which gets the objects as the collector gives them: decoded, trimmed, in whole packed lists
// first.
func TestSynthetic(t *testing.T) {
	var all []measurement
	for _, n := range sizesOf(t, "COMPARE_SYNTHETIC") {
		all = append(all, measureSynthetic(t, n))
	}
	printTable(t, "inventory and exporter alone; three pods of two containers to two volumes", all)
	w, last := t.Output(), &all[len(all)-1]
	fmt.Fprintln(w)
	judge(w, "scrape p99, s", last.plain99, 0.5)
	judge(w, "RSS, MB", last.resting.rss*mega, 700)
	judge(w, "change to metric p99, s", last.visible99, 1)
	for i := 1; i < len(all); i++ {
		times := all[i].bytes / all[i-1].bytes
		judge(w, fmt.Sprintf("RSS, of what is linear, at %s", all[i].name), all[i].resting.rss/all[i-1].resting.rss/times, 1.1)
		judge(w, fmt.Sprintf("scrape p50, of what is linear, at %s", all[i].name), all[i].plain50/all[i-1].plain50/times, 1.1)
	}
}

func measureSynthetic(t *testing.T, n int) measurement {
	cmd := exec.Command(os.Args[0], "-test.run=^TestSyntheticProcess$", "-test.v")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", syntheticVolumes, n))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	v := newMeasurement(t, fmt.Sprintf("%d volumes", n), fmt.Sprintf("%d pods", n+n/2))
	m := launch(t, cmd)
	defer m.stop()
	lines := bufio.NewScanner(out)
	for m.metrics == "" {
		if !lines.Scan() {
			t.Fatalf("it does not serve: %v", lines.Err())
		}
		if address, ok := strings.CutPrefix(lines.Text(), "serving "); ok {
			m.metrics, m.profile = "http://"+address+"/metrics", "http://"+address+"/debug/pprof/heap?gc=1"
		}
	}
	v.measureScrapes(t, m)
	times, _, rate := changesVisible(t, m, trackerPod, changes{
		pods:  min(n/2, 5000),
		end:   func(pod int, sent func()) error { sent(); _, err := fmt.Fprintln(in, "end", pod); return err },
		start: func(pod int, sent func()) error { sent(); _, err := fmt.Fprintln(in, "start", pod); return err },
	})
	v.seeChanges(times, nil, rate)
	v.atEnd = memoryOf(t, m.process.Process.Pid)
	_ = in.Close() // which ends it
	return v
}

// syntheticVolumes is the environment variable that makes a process the one to be measured.
const syntheticVolumes = "SYNTHETIC_VOLUMES"

// TestSyntheticProcess is the process that TestSynthetic starts: it serves metrics, and reads from its standard
// input which pods end and start.
func TestSyntheticProcess(t *testing.T) {
	var n int
	if _, err := fmt.Sscan(os.Getenv(syntheticVolumes), &n); err != nil {
		t.Skip("TestSynthetic starts it")
	}
	app.LimitGarbage()
	registry := prometheus.NewRegistry()
	e := exporter.New(exporter.Options{Registry: registry, PerVolume: true, MaxVolumes: 100_000})
	inv, u := inventory.New(), &fact.Update{}
	apply := func() {
		inv.Take(u)
		e.Apply(u)
	}
	// All lists are there before the first is taken, as in the collector.
	lists := syntheticLists(t, n)
	for _, kind := range fact.Kinds() {
		if err := inv.Replace(kind, lists[kind], inventory.Observation{At: fact.At(time.Now()), Found: true, Version: "1"}); err != nil {
			t.Fatal(err)
		}
		delete(lists, kind)
	}
	apply()
	*u = fact.Update{}   // the lists are garbage, too
	debug.FreeOSMemory() // as the recorder does after a list

	server, err := exporter.NewServer(exporter.ServerOptions{ListenAddresses: []string{"127.0.0.1:0"}, Metrics: e.Handler(), Pprof: true})
	if err != nil {
		t.Fatal(err)
	}
	listeners, err := exporter.Listen(background, []string{"127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(background)
	served := make(chan error)
	go func() { served <- server.Serve(ctx, listeners) }()
	fmt.Println("serving", listeners[0].Addr())

	generation := map[int]int{} // how often a pod of that name has been there before
	for {
		var order string
		var pod int
		if _, err := fmt.Fscanln(os.Stdin, &order, &pod); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		seen := inventory.Live(fact.At(time.Now()))
		if order == "end" {
			err = inv.Delete(syntheticPod(t, pod, pod, generation[pod]), seen)
			generation[pod]++
		} else {
			err = inv.Set(syntheticPod(t, pod, pod, generation[pod]), seen)
		}
		if err != nil {
			t.Fatal(err)
		}
		apply()
	}
	cancel()
	if err := <-served; err != nil {
		t.Fatal(err)
	}
}

// syntheticLists returns n volumes with their claims, and pods: one for each volume, and a second one for each
// volume of the second half.
func syntheticLists(t testing.TB, n int) map[fact.Kind][]any {
	class := benchClassObject()
	class.UID = "55555555-0000-4000-8000-000000000000"
	lists := map[fact.Kind][]any{fact.StorageClasses: {class}}
	for i := range n {
		claim := benchClaim(i)
		claim.UID, claim.ResourceVersion = types.UID(fmt.Sprintf("11111111-0000-4000-8000-%012d", i)), "1"
		volume := benchVolume(i, claim)
		volume.UID, volume.ResourceVersion = types.UID(fmt.Sprintf("22222222-0000-4000-8000-%012d", i)), "1"
		add := func(kind fact.Kind, object any) { lists[kind] = append(lists[kind], collector.Pack(kind, object)) }
		if i%100 == 0 { // a namespace
			set := benchSet(benchNamespace(i))
			set.UID, set.ResourceVersion = syntheticSet(i), "1"
			add(fact.StatefulSets, decoded(t, fact.StatefulSets, set, &appsv1.StatefulSet{}))
		}
		add(fact.Claims, decoded(t, fact.Claims, claim, &corev1.PersistentVolumeClaim{}))
		add(fact.Volumes, decoded(t, fact.Volumes, volume, &corev1.PersistentVolume{}))
		add(fact.Pods, syntheticPod(t, i, i, 0))
		if i >= n-n/2 {
			add(fact.Pods, syntheticPod(t, n+i, i, 0))
		}
	}
	return lists
}

// syntheticSet is the UID of the StatefulSet whose pod mounts a claim.
func syntheticSet(claim int) types.UID {
	return types.UID(fmt.Sprintf("44444444-0000-4000-8000-%012d", claim/100))
}

// syntheticPod returns pod i, which mounts a claim. Each generation has a UID of its own.
func syntheticPod(t testing.TB, i, claim, generation int) *corev1.Pod {
	p := benchPod(claim, syntheticSet(claim))
	p.Name = fmt.Sprint("db-", i)
	p.UID, p.ResourceVersion = types.UID(fmt.Sprintf("33333333-0000-4000-8%03d-%012d", generation, i)), fmt.Sprint(generation+1)
	return decoded(t, fact.Pods, p, &corev1.Pod{})
}

// decoded returns an object as the collector has it from the wire, trimmed.
func decoded[T interface{ Unmarshal([]byte) error }](t testing.TB, kind fact.Kind, o interface{ Marshal() ([]byte, error) }, into T) T {
	data, err := o.Marshal()
	if err == nil {
		err = into.Unmarshal(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	return collector.Trim(redact.Policy{}, kind, into).(T)
}
