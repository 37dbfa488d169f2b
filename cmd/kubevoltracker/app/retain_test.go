package app_test

import (
	"errors"
	"testing"
	"time"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/catalog/catalogtest"
	"github.com/kubevoltracker/kubevoltracker/test/harness"
)

// A tracker applies its retention to what exists.
func TestRunAppliesTheRetention(t *testing.T) {
	server := harness.StartClickHouse(t)
	c := catalogtest.Open(t, server.Address, "kubevoltracker")
	if err := c.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for pod, ended := range map[string]string{"over": "'2020-02-01 00:00:00'", "running": "NULL"} {
		catalogtest.Rows(t, c, `INSERT INTO mounts (cluster, namespace, pod_created_at, pod_uid, started_at, ended_at)
			SELECT 'another', 'shop', '2020-01-01 00:00:00', '`+pod+`', '2020-01-01 00:00:00', `+ended)
	}
	o := appOptions(t)
	o.Catalog.URL, o.Catalog.Password = server.URL("kubevoltracker"), catalogtest.Password
	eventually := func(sql, want string) {
		t.Helper()
		harness.Eventually(t, want, func() error {
			if got := ask(t, o.Catalog, sql); got != want {
				return errors.New(got)
			}
			return nil
		})
	}
	const (
		mounts = "SELECT arrayStringConcat(arraySort(groupArray(pod_uid)), ' ') FROM mounts WHERE cluster = 'another'"
		expire = "SELECT arrayStringConcat(arraySort(groupArray(name)), ' ') FROM system.tables WHERE database = currentDatabase() AND position(engine_full, ' TTL ') > 0"
	)
	o.Retention = catalog.Retention{"mounts": 365 * 24 * time.Hour}
	r := runApp(t, o)
	eventually(expire, "mounts pods")
	eventually(mounts, "running")
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	o.Retention = catalog.Retention{"mounts": 0}
	r = runApp(t, o)
	eventually(expire, "")
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
}
