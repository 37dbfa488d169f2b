package catalog_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/catalog/ingest"
	"github.com/kubevoltracker/kubevoltracker/catalog/journal"
	"github.com/kubevoltracker/kubevoltracker/collector/fact"
	"github.com/kubevoltracker/kubevoltracker/collector/intern"
)

var (
	update = flag.Bool("update", false, "rewrite the golden files in testdata")
	// sharedAddress is that of the engine that most tests share; each has a database of its own.
	sharedAddress string
)

func TestMain(m *testing.M) { catalogtest.Main(m, &sharedAddress) }

// openCatalog opens a database of the test's own on the shared engine.
func openCatalog(t *testing.T) *catalog.Catalog {
	t.Helper()
	return catalogtest.Open(t, sharedAddress, t.Name())
}

func migrated(t *testing.T) *catalog.Catalog {
	t.Helper()
	return catalogtest.OpenMigrated(t, sharedAddress)
}

func rows(t *testing.T, c *catalog.Catalog, sql string) [][]any {
	t.Helper()
	return catalogtest.Rows(t, c, sql)
}

// write brings facts into the catalog as a tracker does: through a recorder, a journal and a writer. What an inventory sums up
// from the mounts is summed up from the catalog.
func write(t *testing.T, c *catalog.Catalog, cluster string, facts *fact.Facts) {
	t.Helper()
	logger := log.NewLogfmtLogger(t.Output())
	j, err := journal.Open(t.Context(), journal.Options{Path: filepath.Join(t.TempDir(), "journal"), Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	r, err := ingest.NewRecorder(ingest.RecorderOptions{Journal: j, Cluster: cluster, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	recorded := make(chan error)
	go func() { recorded <- r.Run(ctx) }()
	nameUsers(facts)
	nameClaims(facts)
	r.Record(&fact.Update{Facts: *facts})
	for r.Pending() {
		time.Sleep(time.Millisecond)
	}
	cancel()
	w := ingest.NewWriter(c, ingest.WriterOptions{Journal: j, Cluster: cluster, Grace: time.Minute, Logger: logger})
	if err := errors.Join(<-recorded, w.Run(ctx)); err != nil {
		t.Fatal(err)
	}
	catalogtest.SumUp(t, c)
}

// nameUsers writes into each mount whose it is, as an inventory does, by the pods beside it.
func nameUsers(f *fact.Facts) {
	for i := range f.Mounts {
		m := &f.Mounts[i]
		at := slices.IndexFunc(f.Pods, func(p fact.Pod) bool { return p.UID == m.PodUID })
		if at < 0 {
			continue
		}
		p := &f.Pods[at]
		m.Owner, m.Groups, m.WorkloadKind, m.WorkloadName = p.Owner, intern.Join(p.Groups), p.WorkloadKind, p.WorkloadName
		if m.WorkloadName == "" {
			m.WorkloadKind, m.WorkloadName = string(fact.Pods), p.Name
		}
	}
}

// nameClaims writes into each binding the name of its claim, as an inventory does: that of the claim beside it, or of the volume
// that refers to it, else a name that claimOf would give it.
func nameClaims(f *fact.Facts) {
	for i := range f.Bindings {
		b := &f.Bindings[i]
		claim := slices.IndexFunc(f.Claims, func(c fact.Claim) bool { return c.UID == b.ClaimUID })
		volume := slices.IndexFunc(f.Volumes, func(v fact.Volume) bool { return v.ClaimUID == b.ClaimUID })
		switch {
		case b.Namespace != "":
		case claim >= 0:
			b.Namespace, b.ClaimName = f.Claims[claim].Namespace, f.Claims[claim].Name
		case volume >= 0:
			b.Namespace, b.ClaimName = f.Volumes[volume].ClaimNamespace, f.Volumes[volume].ClaimName
		default:
			b.Namespace, b.ClaimName = "shop", strings.TrimPrefix(b.ClaimUID, "claim-")
		}
	}
}

// golden compares got with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(path, []byte(got), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got:\n%s\nwant:\n%s", path, got, want)
	}
}
