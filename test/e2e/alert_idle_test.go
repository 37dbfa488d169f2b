package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubevoltracker/kubevoltracker/collector/inventory"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// idleSeconds is the threshold of the test's alerts on idle volumes.
const idleSeconds = 5

// alertmanager is a real Alertmanager.
type alertmanager struct{ address string }

// startAlertmanager runs an Alertmanager until the test ends.
func startAlertmanager(t testing.TB, state, config string) alertmanager {
	t.Helper()
	process := exec.Command(harness.Program(t, "alertmanager"), "--config.file="+config, "--storage.path="+filepath.Join(state, "alertmanager"),
		"--web.listen-address=127.0.0.1:0", "--cluster.listen-address=", "--log.format=json")
	return alertmanager{startListening(t, process)}
}

// active returns the names of the active alerts on a claim, each once.
func (a alertmanager) active(namespace, claim string) (map[string]bool, error) {
	response, err := http.Get("http://" + a.address + "/api/v2/alerts?active=true")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var alerts []struct{ Labels map[string]string }
	if err := json.NewDecoder(response.Body).Decode(&alerts); err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, alert := range alerts {
		if alert.Labels["namespace"] == namespace && alert.Labels["persistentvolumeclaim"] == claim {
			names[alert.Labels["alertname"]] = true
		}
	}
	return names, nil
}

// await waits until an alert on a claim is active, or is not. Meanwhile a pod changes each second: time counts as watched up to the
// last event, and without one up to a bookmark, which comes once a minute.
func (a alertmanager) await(t *testing.T, c *harness.LocalCluster, ns, claim, alert string, want bool) {
	t.Helper()
	n := 0
	harness.EventuallyWithin(t, 3*time.Minute, fmt.Sprintf("%s on %s is active: %t", alert, claim, want), func() error {
		n++
		patch := fmt.Sprintf(`{"metadata": {"annotations": {"nudge": "%d"}}}`, n)
		if _, err := c.Client.CoreV1().Pods(ns).Patch(background, "bystander", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			return err
		}
		time.Sleep(time.Second)
		names, err := a.active(ns, claim)
		if err == nil && names[alert] != want {
			err = fmt.Errorf("active are %v", names)
		}
		return err
	})
}

// keepClaim sets the annotation that keeps a claim; an empty text removes it.
func keepClaim(t testing.TB, c *harness.LocalCluster, ns, claim, text string) {
	t.Helper()
	var value any
	if text != "" {
		value = text
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{inventory.KeepAnnotation: value}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Client.CoreV1().PersistentVolumeClaims(ns).Patch(background, claim, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestIdleAlertEndToEnd lets an alert on an idle volume go from the tracker by Prometheus to Alertmanager: it fires, ends when the
// volume is used again, and is held back by the annotation keep until its date.
func TestIdleAlertEndToEnd(t *testing.T) {
	t.Parallel()
	c := harness.Cluster(t)
	ns := c.CreateNamespace(t, "alerted")
	p := harness.StartTracker(t, c.Kubeconfig, "--metrics.namespace-allowlist="+ns)
	state := t.TempDir()
	configure := func(alertmanager string) {
		script := exec.Command(harness.File(t, "deploy/demo/configure-monitoring.sh"), state, fmt.Sprint(idleSeconds), p.Web, alertmanager)
		if out, err := script.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	configure("127.0.0.1:1") // for alertmanager.yml, before the port is known
	a := startAlertmanager(t, state, filepath.Join(state, "alertmanager.yml"))
	configure(a.address)
	runPrometheus(t, exec.Command(harness.Program(t, "prometheus"), "--config.file="+filepath.Join(state, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(state, "data"), "--web.listen-address=127.0.0.1:0", "--log.format=json"))

	c.CreateClaim(t, ns, "data", "standard")
	c.CreateClaim(t, ns, "bystander", "standard")
	c.CreatePod(t, ns, "user", 0, "data")
	c.CreatePod(t, ns, "bystander", 0, "bystander")
	for _, pod := range []string{"user", "bystander"} {
		c.AwaitPod(t, ns, pod, corev1.PodRunning)
	}
	if names, err := a.active(ns, "data"); err != nil || len(names) > 0 {
		t.Errorf("while the volume is in use, active are %v, %v", names, err)
	}
	leave := func() {
		if err := c.Client.CoreV1().Pods(ns).Delete(background, "user", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	leave()
	a.await(t, c, ns, "data", "VolumeIdleLong", true)
	harness.Eventually(t, "the pod of that name is gone", func() error {
		if _, err := c.Client.CoreV1().Pods(ns).Get(background, "user", metav1.GetOptions{}); err == nil {
			return errors.New("it is there")
		}
		return nil
	})
	c.CreatePod(t, ns, "user", 0, "data")
	a.await(t, c, ns, "data", "VolumeIdleLong", false)
	leave()
	a.await(t, c, ns, "data", "VolumeIdleLong", true)

	keepClaim(t, c, ns, "data", "until 2150-01-31: audit")
	a.await(t, c, ns, "data", "VolumeIdleLong", false)
	p.ExpectRows(t, "SELECT keep_until, keep_reason, keep_unreadable FROM volume_states WHERE claim_namespace = '"+ns+"' AND claim_name = 'data'",
		"2150-02-01 00:00:00.000000\taudit\t")
	keepClaim(t, c, ns, "data", "until 2020-01-31: over")
	a.await(t, c, ns, "data", "VolumeIdleLong", true)

	keepClaim(t, c, ns, "data", "for ever")
	harness.Eventually(t, "an annotation that cannot be read is reported", func() error {
		for _, line := range p.Lines() {
			if line["msg"] == "an annotation that keeps a volume cannot be read" && line["value"] == "for ever" && line["claim"] == "data" {
				if metricOf(p.Metrics(t), "kubevoltracker_volume_keep_unreadable", fmt.Sprint(line["name"])) != "" {
					return nil
				}
			}
		}
		return errors.New("no line in the log, or no metric")
	})
	if names, err := a.active(ns, "data"); err != nil || !names["VolumeIdleLong"] {
		t.Errorf("an annotation that cannot be read holds the alert back: active are %v, %v", names, err)
	}
}
