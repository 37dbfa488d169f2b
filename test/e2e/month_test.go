package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubevoltracker/kubevoltracker/test/harness"
	"github.com/kubevoltracker/kubevoltracker/test/truth"
)

// The month's namespaces; the last is deleted with all that is in it. Volumes made
// by hand have the label.
const (
	monthNamespace = "month-a"
)

const (
	monthOtherName = "month-b"
)

const (
	monthGoneNamespace = "month-gone"
)

const (
	monthLabel = "month"
)

const (
	hold = "kubevoltracker.io/hold" // a finalizer of ours
)

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

// TestMonth lives through a month of storage in a minute, and compares all that
// the catalog says of it with what the API server's audit log does.
func TestMonth(t *testing.T) {
	c := harness.Cluster(t)
	log, err := truth.OpenLog(filepath.Join(c.Dir, "audit.log"))
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, namespace := range []string{monthNamespace, monthOtherName, monthGoneNamespace} {
		c.CreateNamespace(t, namespace)
	}
	t.Cleanup(func() { endMonth(t, c) })
	kubeconfig, dir := c.ServiceAccount(t), t.TempDir()
	start := func() *harness.Tracker { return harness.StartTracker(t, kubeconfig, "--data-dir="+dir) }
	p := start()
	if path := os.Getenv("KUBEVOLTRACKER_RECORD"); path != "" {
		stop := startRecording(t, objects)
		defer func() { stop(path) }()
	}

	t.Run("before the gate", func(t *testing.T) {
		beforeTheGate(t, &story{t: t, c: c, objects: objects, Namespace: monthNamespace})
	})
	if t.Failed() {
		return
	}

	// Each chapter is a test of its own, so that it can fail on its own; they run all
	// at once, however many tests may run in parallel: they only wait.
	var chapters sync.WaitGroup
	for name, chapter := range monthChapters {
		chapters.Go(func() {
			t.Run(name, func(t *testing.T) {
				start := time.Now()
				chapter(&story{t: t, c: c, objects: objects, Namespace: monthNamespace})
				t.Logf("took %.1f s", time.Since(start).Seconds())
			})
		})
	}
	chapters.Wait()
	if t.Failed() {
		return
	}
	expectTruth(t, c, p, log, nil, "live")

	// A restart, with the journal and without it, changes nothing of what the reports say. By now the tracker
	// has forgotten most of the pods that are gone.
	afterwards := func(name string, away truth.Gaps) {
		t.Run(name, func(t *testing.T) {
			waitInVain(&story{t: t, c: c, objects: objects, Namespace: monthNamespace}, strings.ReplaceAll(name, " ", "-"))
		})
		expectTruth(t, c, p, log, away, name)
	}
	p.Stop(t)
	p = start()
	afterwards("from the journal", nil)
	p.Stop(t)
	stopped := time.Now()
	if err := os.Remove(filepath.Join(dir, "journal.db")); err != nil {
		t.Fatal(err)
	}
	p = start()
	p.ExpectReady(t)
	afterwards("from the catalog", truth.Gaps{{From: stopped, To: time.Now(), Lossy: true}})
}

// endMonth takes away what would be in other tests' way.
func endMonth(t *testing.T, c *harness.LocalCluster) {
	_, err := c.Client.CoreV1().PersistentVolumeClaims(monthNamespace).Patch(background, keptBack, types.MergePatchType, []byte(harness.DropFinalizers), metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
	for _, namespace := range []string{monthNamespace, monthOtherName, monthGoneNamespace} {
		err := c.Client.CoreV1().Namespaces().Delete(background, namespace, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	}
	err = c.Client.CoreV1().PersistentVolumes().DeleteCollection(background, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: monthLabel})
	if err != nil {
		t.Error(err)
	}
}

// monthChapters are what happens in the month.
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
