package exporter

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Check is one fact about the tracker on which its health depends.
type Check struct {
	Name string // one word, as the answer shows it: "lists", "catalog"
	// Check returns nil if all is well, else what is wrong. Each probe calls it, from several
	// goroutines, and it must return at once.
	Check func() error
	// Note returns what else is worth knowing while the check passes; nil, or an empty text, for nothing. It has the
	// same duties as Check.
	Note func() string
}

func (c *Check) note() string {
	if c.Note == nil {
		return ""
	}
	if note := c.Note(); note != "" {
		return ": " + note
	}
	return ""
}

// RegisterReady exports the answer of /readyz as a metric, so that an alert can look at it.
func RegisterReady(reg prometheus.Registerer, checks []Check) {
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: prefix + "_ready",
		Help: "1 if /readyz answers 200, else 0: then the metrics are not complete, and /readyz?verbose says what is missing.",
	}, func() float64 {
		for _, c := range checks {
			if c.Check() != nil {
				return 0
			}
		}
		return 1
	}))
}

// healthHandler answers 200 if all checks pass, else 503, in the words that the
// Kubernetes API server uses: "ok", or with ?verbose and on failure a line for
// each check. The API server's own handler is in a module that requires etcd's client and
// gRPC (k8s.io/apiserver).
func healthHandler(path string, checks []Check) http.Handler {
	name := strings.TrimPrefix(path, "/")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var lines strings.Builder
		failed := false
		for _, c := range checks {
			if err := c.Check(); err != nil {
				failed = true
				fmt.Fprintf(&lines, "[-]%s failed: %v\n", c.Name, err)
			} else {
				fmt.Fprintf(&lines, "[+]%s ok%s\n", c.Name, c.note())
			}
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		switch {
		case failed:
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = fmt.Fprintf(w, "%s%s check failed\n", lines.String(), name)
		case r.URL.Query().Has("verbose"):
			_, _ = fmt.Fprintf(w, "%s%s check passed\n", lines.String(), name)
		default:
			_, _ = fmt.Fprint(w, "ok")
		}
	})
}
