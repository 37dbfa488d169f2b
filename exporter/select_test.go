package exporter

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-kit/log"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/intern"
)

func matcher(t *testing.T, patterns ...string) (m Matcher) {
	t.Helper()
	for _, p := range patterns {
		if err := m.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func TestVolumesAreSelectedByNamespaceAndClass(t *testing.T) {
	var update fact.Update
	for _, ns := range []string{"", "shop", "shop-test", "lab"} {
		for _, class := range []string{"", "fast", "slow"} {
			v, c := testVolume(), testClaim()
			v.Name = ns + "/" + class
			v.UID, v.Namespace, v.StorageClass, v.ClaimClass = v.Name, ns, class, class
			c.UID, c.Namespace, c.StorageClass = v.Name, ns, class
			update.Volumes, update.Claims = append(update.Volumes, v), append(update.Claims, c)
		}
	}
	for name, tc := range map[string]struct {
		namespaces, classes Filter
		want                string
	}{
		"all":                  {want: "/ /fast /slow shop/ shop/fast shop/slow shop-test/ shop-test/fast shop-test/slow lab/ lab/fast lab/slow"},
		"names are whole":      {namespaces: Filter{Allow: matcher(t, "shop")}, want: "shop/ shop/fast shop/slow"},
		"two lists":            {namespaces: Filter{Allow: matcher(t, "shop.*", "lab"), Deny: matcher(t, ".*-test")}, classes: Filter{Allow: matcher(t, "fast")}, want: "shop/fast lab/fast"},
		"deny alone":           {namespaces: Filter{Deny: matcher(t, "shop.*|lab")}, classes: Filter{Deny: matcher(t, "slow")}, want: "/ /fast"},
		"without a claim only": {namespaces: Filter{Allow: matcher(t, "^$")}, want: "/ /fast /slow"},
	} {
		t.Run(name, func(t *testing.T) {
			e := New(Options{Registry: prometheus.NewRegistry(), PerVolume: true, Namespaces: tc.namespaces, StorageClasses: tc.classes})
			e.Apply(&update)
			if got := shownVolumes(t, e); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			all := New(Options{Registry: prometheus.NewRegistry(), PerVolume: true})
			all.Apply(&update)
			wantText(t, gauges(t, e, "kubevoltracker_namespace_"), gauges(t, all, "kubevoltracker_namespace_"))
		})
	}
}

func shownVolumes(t *testing.T, e *Exporter) string {
	t.Helper()
	var names []string
	for line := range strings.Lines(samples(t, e, "kubevoltracker_volume_mounts")) {
		names = append(names, strings.Split(line, `"`)[1])
	}
	return strings.Join(names, " ")
}

// A volume that comes into or out of what is selected, as its claim changes.
func TestAVolumeMovesInAndOutOfTheSelection(t *testing.T) {
	e := New(Options{Registry: prometheus.NewRegistry(), PerVolume: true, Namespaces: Filter{Allow: matcher(t, "shop")}})
	other := testVolume()
	other.UID, other.Name = "u2", "pv-2"
	e.Apply(volumesUpdate(testVolume(), other))
	available := testVolume()
	available.Namespace, available.Claim, available.Status = "", "", fact.VolumeAvailable
	for _, step := range []struct {
		v    fact.VolumeState
		want string
	}{{available, "pv-2"}, {available, "pv-2"}, {testVolume(), "pv-2 pv-1"}, {fact.VolumeState{UID: "u2", Gone: true}, "pv-1"}, {available, ""}, {fact.VolumeState{UID: "u1", Gone: true}, ""}} {
		e.Apply(volumesUpdate(step.v))
		if got := shownVolumes(t, e); got != step.want {
			t.Errorf("got %q, want %q", got, step.want)
		}
	}
	if len(e.volumes.places) != 0 {
		t.Errorf("left are %v", e.volumes.places)
	}
}

func TestVolumesOverTheLimit(t *testing.T) {
	var logged strings.Builder
	e := New(Options{Registry: prometheus.NewRegistry(), PerVolume: true, MaxVolumes: 2, Logger: log.NewLogfmtLogger(&logged)})
	want := func(shown, over string) {
		t.Helper()
		if got := shownVolumes(t, e); got != shown {
			t.Errorf("shown are %q, want %q", got, shown)
		}
		wantText(t, samples(t, e, "kubevoltracker_metrics_volumes"), "kubevoltracker_metrics_volumes_over_limit "+over+"\n")
	}
	add := func(name string) {
		v := testVolume()
		v.UID, v.Name = name, name
		e.Apply(volumesUpdate(v))
	}
	add("a")
	add("b")
	want("a b", "0")
	add("c")
	add("d")
	want("a b", "2")
	wantText(t, samples(t, e, "kubevoltracker_namespace_idle_volumes"), "") // no claims; nothing breaks
	e.Apply(volumesUpdate(fact.VolumeState{UID: "a", Gone: true}))
	want("d b", "1") // one comes into sight, without a word of it
	if n := strings.Count(logged.String(), "--metrics.max-volumes"); n != 1 {
		t.Errorf("it was said %d times:\n%s", n, &logged)
	}
	e.Apply(volumesUpdate(fact.VolumeState{UID: "b", Gone: true}))
	want("d c", "0")
}

func TestLabelsAreCarriedAsKubeStateMetricsNamesThem(t *testing.T) {
	var claim, namespace LabelKeys
	if err := claim.Add("team, app.kubernetes.io/name,costCenter"); err != nil {
		t.Fatal(err)
	}
	if err := claim.Add("cost_center,team"); err != nil {
		t.Fatal(err)
	}
	if err := namespace.Add("team"); err != nil {
		t.Fatal(err)
	}
	e := New(Options{Registry: prometheus.NewRegistry(), PerVolume: true, ClaimLabels: claim, NamespaceLabels: namespace})
	v := testVolume()
	v.ClaimLabels = intern.Pack(map[string]string{
		"team": "red", "app.kubernetes.io/name": "db", "costCenter": "1", "cost_center": "2", "pod-template-hash": "not asked for",
	})
	v.NamespaceLabels = intern.Pack(map[string]string{"team": "blue"})
	bare := testVolume()
	bare.UID, bare.Name = "u2", "pv-2"
	e.Apply(volumesUpdate(v, bare))
	const common = `namespace="shop",persistentvolumeclaim="data-mysql-0",storageclass="fast",source="nfs",driver="",reclaim_policy="Retain",owner="anna"`
	wantText(t, samples(t, e, "kubevoltracker_volume_info"), `
kubevoltracker_volume_info{persistentvolume="pv-1",`+common+`,label_app_kubernetes_io_name="db",label_cost_center_conflict1="1",label_cost_center_conflict2="2",label_team="red",namespace_label_team="blue"} 1
kubevoltracker_volume_info{persistentvolume="pv-2",`+common+`} 1
`)
}

func TestBadSelectionsAreNamed(t *testing.T) {
	var m Matcher
	var keys LabelKeys
	var many []string
	for i := range maxLabelKeys + 1 {
		many = append(many, fmt.Sprint("key-", i))
	}
	for want, err := range map[string]error{
		`"shop("`: m.Add("shop("), "empty": m.Add(""), `"te am"`: keys.Add("app,te am"), `""`: keys.Add("app,"), "32 are the most": keys.Add(strings.Join(many, ",")),
	} {
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want it to name %s", err, want)
		}
	}
}
