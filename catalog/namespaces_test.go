package catalog_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// TestReportsFindTheNamespacesOfAnOwner has owners with few namespaces, which are sent along as parameters; with too many for that;
// and one in a cluster whose name cannot be sent. Where all pods have an owner, mounts are not compared with claims, and where nobody else has
// pods or claims, nor are volumes. The volumes that --volume names, and when pods were watched, are sent along, too.
func TestReportsFindTheNamespacesOfAnOwner(t *testing.T) {
	c := migrated(t)
	const hostile = "o'br\\ow\tn]) ('x"
	for _, o := range []struct {
		cluster, owner    string
		namespaces, owned int // in the first ones the pods have the owner, in the others only the claims
	}{
		{"east", "few", 3, 1}, {"east", "pods", 3, 3}, {"east", "many", 120, 60}, {hostile, "far", 3, 1}, {"west", "many", 2, 2},
		{"east", "one", 1, 1},
	} {
		f := &fact.Facts{Coverage: []fact.Coverage{{Version: 1, Instance: "a", Kind: fact.Pods, StartedAt: day(1, 1), SeenAt: day(3, 1)}}}
		for i := range o.namespaces {
			addOwned(f, fmt.Sprintf("%s-%d", o.owner, i), o.owner, i < o.owned)
		}
		if o.owner == "one" { // has a neighbour in its namespace
			f.Claims[1].Owner, f.Claims[1].Groups = "two", []string{"friends of two"}
		}
		write(t, c, o.cluster, f)
	}
	var spied spy
	c = spied.on(t)
	for _, test := range []struct {
		report, flags string
		rows          int
		sent          string
	}{
		{"mounts", "owner=few", 3, "its_namespaces"},
		{"mounts", "group=friends of few", 3, "its_namespaces"},
		{"mounts", "owner=pods", 3, "all_owned all_theirs its_namespaces"},
		{"mounts", "owner=many", 122, ""},
		{"mounts", "owner=many,cluster=west", 2, "all_owned all_theirs its_namespaces"},
		{"mounts", "owner=many,namespace=many-119", 1, "its_namespaces"},
		{"mounts", "owner=far", 3, ""},
		{"mounts", "owner=few,group=friends of pods", 0, "its_namespaces"},
		{"mounts", "owner=nobody", 0, ""},
		{"history", "group=friends of pods,since=2026-01-01", 3, "all_owned all_theirs its_namespaces"},
		{"bindings", "owner=few,since=2026-01-01", 6, "its_namespaces"},
		{"idle", "owner=few,at=2026-02-01", 3, "its_namespaces volume_namespaces"},
		{"idle", "owner=few,cluster=east,at=2026-02-01", 3, "its_namespaces volume_namespaces watched_spans"},
		{"idle", "owner=pods,at=2026-02-01", 3, "all_owned all_theirs its_namespaces volume_namespaces"},
		{"idle", "owner=one,at=2026-02-01", 0, "all_owned its_namespaces volume_namespaces"},
		{"idle", "owner=two,at=2026-02-01", 1, "all_owned its_namespaces volume_namespaces"},
		{"idle", "cluster=east", 127, "watched_spans"},
		{"idle", "owner=many,at=2026-02-01", 122, ""},
		{"idle", "owner=far,at=2026-02-01", 3, ""},
		{"idle", "namespace=far-1,at=2026-02-01", 1, ""},
		{"idle", "namespace=few-1,at=2026-02-01", 1, "volume_namespaces"},
		{"space", "owner=few,at=2026-02-01", 3, "its_namespaces volume_namespaces"},
		{"space", "owner=many,at=2026-02-01", 122, ""},
		{"at", "owner=few,at=2026-02-01", 6, "its_namespaces volume_namespaces"},
		{"mounts", "volume=few-0/few-0-used", 1, "named_volumes"},
		{"mounts", "volume=few-0-used,owner=few", 1, "its_namespaces named_volumes"},
		{"users", "volume=far-0-used", 1, ""},
		{"users", "volume=pods-0-used", 1, "named_volumes"},
		{"mounts", "volume=far-0/nothing", 0, ""},
	} {
		spied.reset()
		result, err := c.RunReport(t.Context(), test.report, flagsOf(strings.Split(test.flags, ",")), 0)
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for result.Next() {
			got++
		}
		if result.Close(); result.Err() != nil || got != test.rows {
			t.Errorf("%s %s: got %d rows, %v; want %d", test.report, test.flags, got, result.Err(), test.rows)
		}
		if sent := spied.sent(); sent != test.sent {
			t.Errorf("%s %s: sent %q, want %q", test.report, test.flags, sent, test.sent)
		}
	}
}

// addOwned adds two claims of an owner: a pod uses one of them, and nobody the other one. The owner is that of the pod, too, or only
// that of its claim.
func addOwned(f *fact.Facts, namespace, owner string, ofPod bool) {
	groups := []string{"friends of " + owner}
	for _, name := range []string{"used", "idle"} {
		key := namespace + "-" + name
		claim, volume := claimOf(key, "fast", key, 1), volumeOf(key, "fast", "csi:"+key, "claim-"+key, "Bound", 1)
		claim.Namespace, claim.Owner, claim.Groups, volume.ClaimNamespace = namespace, owner, groups, namespace
		f.Claims, f.Volumes = append(f.Claims, claim), append(f.Volumes, volume)
		f.Bindings = append(f.Bindings, fact.Binding{Version: 1, ClaimUID: claim.UID, VolumeUID: key, BoundAt: day(1, 2)})
	}
	used := namespace + "-used"
	pod, mount := podOf(namespace, used, "", ""), mountOf(used, "data", used, "csi:"+used, used, day(1, 3))
	mount.Namespace = namespace
	if ofPod {
		pod.Owner, pod.Groups = owner, groups
	}
	f.Pods, f.Mounts = append(f.Pods, pod), append(f.Mounts, mount)
}

// spy is a proxy before ClickHouse that notes which parameters of small statements a request has.
type spy struct {
	mu    sync.Mutex
	names map[string]bool
}

// on returns the test's catalog behind the spy.
func (s *spy) on(t *testing.T) *catalog.Catalog {
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: sharedAddress})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		for _, name := range []string{"its_namespaces", "volume_namespaces", "all_owned", "all_theirs", "named_volumes", "watched_spans"} {
			if r.URL.Query().Get("param_"+name) != "" {
				s.names[name] = true
			}
		}
		s.mu.Unlock()
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return catalogtest.Open(t, server.Listener.Addr().String(), t.Name())
}

func (s *spy) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = map[string]bool{}
}

func (s *spy) sent() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(slices.Sorted(maps.Keys(s.names)), " ")
}
