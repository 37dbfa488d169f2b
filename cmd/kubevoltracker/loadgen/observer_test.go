package loadgen

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// TestALostWatchFailsTheRun ends a watch by an error, and another without one.
func TestALostWatchFailsTheRun(t *testing.T) {
	for name, end := range map[string]func(*watch.FakeWatcher){
		"too old": func(w *watch.FakeWatcher) {
			w.Error(&metav1.Status{Status: metav1.StatusFailure, Code: http.StatusGone, Message: "too old"})
		},
		"the watch ended": func(w *watch.FakeWatcher) { w.Stop() },
	} {
		var out bytes.Buffer
		a := newAccount(&out)
		o := newObserver("r1", a)
		var told error
		o.onLost = func(err error) { told = err }
		w := watch.NewFakeWithChanSize(1, false)
		end(w)
		o.follow(t.Context(), PodKind, w)
		if err := a.flush(); err != nil {
			t.Fatal(err)
		}
		if told == nil || !strings.Contains(told.Error(), name) || o.lost() == nil || !strings.Contains(out.String(), `"action":"lost"`) {
			t.Errorf("%s: told %v, the account has %s", name, told, out.String())
		}
	}
}
