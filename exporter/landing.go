package exporter

import (
	"net/http"
	"strconv"

	"github.com/prometheus/common/version"
	"github.com/prometheus/exporter-toolkit/web"
)

// landingPage returns the page for a person who opens the address in a browser.
func landingPage(telemetryPath string, profiling bool) (http.Handler, error) {
	return web.NewLandingPage(web.LandingConfig{
		Name:        "kubevoltracker",
		Description: "Remembers who used which Kubernetes storage, when.",
		Version:     version.Info(),
		Profiling:   strconv.FormatBool(profiling),
		Links: []web.LandingLinks{
			{Address: telemetryPath, Text: "Metrics", Description: "the present state, for Prometheus"},
			{Address: readyPath + "?verbose", Text: "Ready", Description: "whether what the metrics say can be relied on"},
			{Address: livePath + "?verbose", Text: "Live", Description: "whether the tracker still moves"},
		},
	})
}
