// What writes dashboards/*.json. It is a module of its own, because no user of the tracker needs Grafana's types.
module github.com/kubevoltracker/kubevoltracker/deploy/dashboards

go 1.26.0

require github.com/grafana/grafana-foundation-sdk/go v0.0.18
