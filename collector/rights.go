package collector

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// right is a permission: one verb on one resource.
type right struct{ verb, group, resource string }

func (r right) String() string {
	if r.group == "" {
		return r.verb + " " + r.resource
	}
	return r.verb + " " + r.resource + "." + r.group
}

// asGranted says what grants the tracker's rights. deploy/rbac.yaml alone is no cure for a Helm release, whose service account
// may have another name and namespace.
const asGranted = "as deploy/rbac.yaml or `helm upgrade` with the chart's values does"

// rights are the permissions that the API server has refused to the tracker. rights logs each when it is refused first
// and when it is granted again, and exports those that are missing.
type rights struct {
	logger  log.Logger
	metric  *prometheus.GaugeVec
	mu      sync.Mutex
	missing map[right]struct{}
}

func newRights(reg prometheus.Registerer, logger log.Logger) *rights {
	r := &rights{logger: logger, missing: map[right]struct{}{}, metric: prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "kubevoltracker_missing_rights",
		Help: "1 for each permission that the API server has refused to the tracker, until it is granted. Absent while none is missing.",
	}, []string{"verb", "api_group", "resource"})}
	reg.MustRegister(r.metric)
	return r
}

// note records the result of a request that needs a right. Without says what the tracker does without it, and cure what
// the user can do instead of granting it; it may be empty. Other errors than a refusal say nothing about the right.
func (r *rights) note(needed right, err error, without, cure string) {
	if r == nil {
		return // kubelets without a collector
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, missing := r.missing[needed]
	keys := []any{"verb", needed.verb, "resource", needed.resource, "api_group", needed.group}
	switch {
	case apierrors.IsForbidden(err) && !missing:
		r.missing[needed] = struct{}{}
		r.metric.WithLabelValues(needed.verb, needed.group, needed.resource).Set(1)
		hint := "grant it, " + asGranted
		if cure != "" {
			hint += ", or " + cure
		}
		level.Warn(r.logger).Log(append([]any{"msg", "a right is missing", "without_it", without}, append(keys, "hint", hint, "err", err)...)...)
	case err == nil && missing:
		delete(r.missing, needed)
		r.metric.DeleteLabelValues(needed.verb, needed.group, needed.resource)
		level.Info(r.logger).Log(append([]any{"msg", "a right that was missing is granted now"}, keys...)...)
	}
}

// lacks reports whether a right is missing.
func (r *rights) lacks(needed right) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, missing := r.missing[needed]
	return missing
}

// String lists the missing rights; empty if there is none.
func (r *rights) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []string
	for needed := range maps.Keys(r.missing) {
		list = append(list, needed.String())
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}
