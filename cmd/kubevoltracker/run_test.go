package main

import (
	"reflect"
	"testing"
	"time"

	"github.com/alecthomas/kingpin/v2"
)

// TestKubeletFlags holds that the default of an interval differs from an interval that somebody asked for.
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
