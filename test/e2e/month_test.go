package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
	"github.com/kubevoltracker/kubevoltracker/test/truth"
)

// The namespaces of the month, of which the last is deleted with all that is in it, and the label of volumes that are made
// by hand.
const (
	monthNamespace     = "month-a"
	monthOtherName     = "month-b"
	monthGoneNamespace = "month-gone"
	monthLabel         = "month"
)

// hold is a finalizer that nobody else handles.
const hold = "kubevoltracker.io/hold"

// ofTheMonth reports whether an object belongs to the month.
func ofTheMonth(o metav1.Object) bool {
	namespace := o.GetNamespace()
	switch o := o.(type) {
	case *corev1.PersistentVolume:
		if o.Spec.ClaimRef != nil {
			namespace = o.Spec.ClaimRef.Namespace
		}
	case *corev1.Namespace:
		namespace = o.Name
	}
	return isOfTheMonth(namespace) || o.GetLabels()[monthLabel] != ""
}

// TestMonthIsRecordedAsInTheAuditLog plays a month of storage in a minute on a control plane of its own, and compares all
// that the catalog, the metrics and the report idle say of it with the API server's audit log: live, after a restart from
// the journal, and after one without it.
//
// With KUBEVOLTRACKER_RECORD=FILE it writes what the watches sent, for collector/inventory/testdata/month.jsonl.
func TestMonthIsRecordedAsInTheAuditLog(t *testing.T) {
	t.Parallel()
	m := newMonth(t)
	dir := t.TempDir()
	start := func() *harness.Tracker {
		p := harness.StartTracker(t, m.kubeconfig, "--data-dir="+dir)
		p.ExpectReady(t)
		return p
	}
	p := start()
	if path := os.Getenv("KUBEVOLTRACKER_RECORD"); path != "" {
		stop := startRecording(t, m.objects)
		defer func() { stop(path) }()
	}
	m.play(t)
	if t.Failed() {
		return
	}
	m.expectTruth(t, p, nil, "live")

	// By now the tracker has forgotten most of the pods that are gone. Pods that wait in vain change nothing.
	again := func(name string, away truth.Gaps) {
		t.Run(name, func(t *testing.T) { waitInVain(m.story(t), strings.ReplaceAll(name, " ", "-")) })
		m.expectTruth(t, p, away, name)
	}
	p.Stop(t)
	p = start()
	again("from the journal", nil)
	p.Stop(t)
	stopped := time.Now()
	if err := os.RemoveAll(filepath.Join(dir, "journal")); err != nil {
		t.Fatal(err)
	}
	p = start()
	again("from the catalog", truth.Gaps{{From: stopped, To: time.Now(), Lossy: true}})
}

// month is the control plane on which the month is played, and its audit log.
type month struct {
	c          *harness.LocalCluster
	kubeconfig string // with the rights of deploy/rbac.yaml
	objects    dynamic.Interface
	log        *truth.Log
}

func newMonth(t *testing.T) *month {
	t.Helper()
	m := &month{c: harness.OwnCluster(t)}
	t.Cleanup(func() {
		if t.Failed() { // -artifacts keeps it
			text, err := os.ReadFile(filepath.Join(m.c.Dir, "audit.log"))
			if err = errors.Join(err, os.WriteFile(filepath.Join(t.ArtifactDir(), "audit.log"), text, 0o600)); err != nil {
				t.Log(err)
			}
		}
	})
	var err error
	if m.log, err = truth.OpenLog(filepath.Join(m.c.Dir, "audit.log")); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", m.c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	if m.objects, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	for _, namespace := range []string{monthNamespace, monthOtherName, monthGoneNamespace} {
		m.c.CreateNamespace(t, namespace)
	}
	m.kubeconfig = m.c.ServiceAccount(t)
	return m
}

// play runs the chapters: first those with the gate off, then all others at once, however many tests may run in parallel,
// as they only wait. Each is a subtest.
func (m *month) play(t *testing.T) {
	t.Run("before the gate", func(t *testing.T) { beforeTheGate(t, m.story(t)) })
	if t.Failed() {
		return
	}
	var chapters sync.WaitGroup
	for name, chapter := range monthChapters {
		chapters.Go(func() {
			t.Run(name, func(t *testing.T) {
				start := time.Now()
				chapter(m.story(t))
				t.Logf("took %.1f s", time.Since(start).Seconds())
			})
		})
	}
	chapters.Wait()
}

func (m *month) story(t *testing.T) *story {
	return &story{t: t, c: m.c, objects: m.objects, Namespace: monthNamespace}
}

// monthChapters are the stories of the month, by the name of their subtest.
var monthChapters = map[string]func(*story){
	"databases":         databases,
	"brokers":           brokers,
	"web":               web,
	"jobs":              jobs,
	"retried job":       retriedJob,
	"failed job":        failedJob,
	"cron job":          cronJob,
	"daemon set":        daemonSet,
	"ephemeral":         ephemeral,
	"ephemeral late":    ephemeralLate,
	"growth":            growth,
	"retained":          retained,
	"reclaimed":         reclaimed,
	"held":              held,
	"lost":              lost,
	"by hand":           byHand,
	"one export":        oneExport,
	"late":              late,
	"all kinds":         allKinds,
	"block":             block,
	"debugged":          debugged,
	"same names":        sameNames,
	"same name, held":   sameNameHeld,
	"forced":            forced,
	"haste":             haste,
	"unbound":           unboundByMistake,
	"crash loop":        crashLoop,
	"evicted":           evicted,
	"preempted":         preempted,
	"tainted":           tainted,
	"left by the node":  leftByTheNode,
	"never used":        neverUsed,
	"never started":     neverStarted,
	"rejected":          rejected,
	"lost node":         lostNode,
	"given away":        givenAway,
	"given away, ended": givenAwayAndEnded,
	"pulled away":       pulledAway,
	"cleared":           cleared,
	"made again":        madeAgain,
	"swapped":           swapped,
	"scaled down":       scaledDown,
	"namespace deleted": namespaceDeleted,
}
