package main

import (
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/kubevoltracker/kubevoltracker/catalog"
	"github.com/kubevoltracker/kubevoltracker/cmd/namedflag"
)

// TestKubeletFlags checks that the default of an interval differs from an interval that somebody asked for.
func TestKubeletFlags(t *testing.T) {
	for name, test := range map[string]struct {
		args        []string
		environment string
		byDefault   bool
		types       []string
		port        int
	}{
		"default":               {nil, "", true, []string{"InternalIP"}, 10250},
		"the same, given":       {[]string{"--kubelet.interval=5m"}, "", false, []string{"InternalIP"}, 10250},
		"by the environment":    {nil, "5m", false, []string{"InternalIP"}, 10250},
		"other addresses":       {[]string{"--kubelet.address-types=ExternalIP", "--kubelet.address-types=InternalIP,Hostname"}, "", true, []string{"ExternalIP", "InternalIP,Hostname"}, 10250},
		"the port of each Node": {[]string{"--kubelet.port=0"}, "", true, []string{"InternalIP"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if test.environment != "" {
				t.Setenv("TEST_KUBELET_INTERVAL", test.environment)
			}
			application, f := kingpin.New("test", ""), &runFlags{}
			application.DefaultEnvars()
			addKubeletFlags(application.Command("run", ""), f)
			if _, err := application.Parse(append([]string{"run"}, test.args...)); err != nil {
				t.Fatal(err)
			}
			o := f.Kubelets
			if o.OnlyInCluster != test.byDefault || o.Interval != 5*time.Minute || o.Port != test.port || !reflect.DeepEqual(o.AddressTypes, test.types) || o.Check() != nil {
				t.Errorf("got %+v", o)
			}
		})
	}
}

func TestRetentionFlag(t *testing.T) {
	parse := func(args ...string) (catalog.Retention, error) {
		application := kingpin.New("test", "").Terminate(nil)
		application.UsageWriter(io.Discard)
		application.ErrorWriter(io.Discard)
		application.DefaultEnvars()
		var r catalog.Retention
		addRetentionFlag(application.Command("run", ""), &r)
		namedflag.NameAll(application)
		_, err := application.Parse(append([]string{"run"}, args...))
		return r, err
	}
	year := 365 * 24 * time.Hour
	if r, err := parse(); r != nil || err != nil {
		t.Errorf("without the flag: %v, %v", r, err)
	}
	if r, err := parse("--catalog.retention=mounts=2y,usage=90d", "--catalog.retention=changes=forever"); err != nil || !reflect.DeepEqual(r, catalog.Retention{"mounts": 2 * year, "usage": 90 * 24 * time.Hour, "changes": 0}) {
		t.Errorf("got %v, %v", r, err)
	}
	t.Setenv("TEST_CATALOG_RETENTION", "mounts=2y\nchanges=1y")
	if r, err := parse(); err != nil || !reflect.DeepEqual(r, catalog.Retention{"mounts": 2 * year, "changes": year}) {
		t.Errorf("by the environment: %v, %v", r, err)
	}
	if _, err := parse("--catalog.retention=objects=1y"); err == nil || !strings.Contains(err.Error(), "--catalog.retention: objects has no retention of its own: ") {
		t.Errorf("got %v", err)
	}
}

func TestTheEngineLogsAtTheLevelOfTheTracker(t *testing.T) {
	f := &runFlags{catalog: &catalogFlags{}, log: &logFlags{level: "debug"}}
	if err := f.complete(io.Discard); err != nil || f.Engine.LogLevel != "debug" {
		t.Errorf("got %q, %v", f.Engine.LogLevel, err)
	}
}
