#!/usr/bin/env bash
# Copies the definitions of ServiceMonitor and PrometheusRule out of a version of the Prometheus Operator's Go module.
# The go command compares the module with the checksum database.
#
#   deploy/fetch-crds.sh MODULE@VERSION DIRECTORY
set -euo pipefail
module=$1
to=$2
mkdir -p "$to"
cd "$to"
from=$(GOWORK=off GOFLAGS=-mod=mod go mod download -json "$module" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
for kind in prometheusrules servicemonitors; do
	install -m 0644 "$from/example/prometheus-operator-crd/monitoring.coreos.com_$kind.yaml" "$kind.yaml"
done
