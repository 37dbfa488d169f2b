#!/usr/bin/env bash
# Writes what Prometheus and Alertmanager need beside a tracker into STATE: the rules of alerts/, with which a volume counts as idle
# after SECONDS, prometheus.yml and alertmanager.yml. The demo and the test of an idle alert end to end use it.
#
#   configure-monitoring.sh STATE SECONDS TRACKER ALERTMANAGER      TRACKER and ALERTMANAGER are HOST:PORT
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
fail() { printf 'configure-monitoring.sh: %s\n' "$1" >&2; exit 1; }
[ $# = 4 ] || fail "want STATE SECONDS TRACKER ALERTMANAGER, not $# arguments"
state=$1 seconds=$2 tracker=$3 alertmanager=$4
[[ $seconds =~ ^[1-9][0-9]{0,8}$ ]] || fail "the idle threshold is \"$seconds\": give it in whole seconds, such as 20"

mkdir -p "$state/rules"
for file in "$here"/../../alerts/*.yaml; do
  case $file in *_test.yaml) continue ;; esac
  cp "$file" "$state/rules/"
done
# Both alerts on idle volumes look at the same threshold, and wait for seconds instead of an hour.
awk -v seconds="$seconds" '
  /- alert: / { idle = /VolumeIdleLong|VolumeNeverMounted/ }
  /# threshold: (30|7) days/ && sub(/[0-9]+ \* 86400/, seconds) { changed++ }
  idle && /^ +for: 1h/ { sub(/1h/, "4s"); changed++ }
  { print }
  # Twice the threshold of VolumeIdleLong and VolumeNeverMounted, once that of VolumeNotReclaimed, and two times for.
  END { if (changed != 5) exit 1 }
' "$here/../../alerts/volumes.yaml" >"$state/rules/volumes.yaml" || fail "alerts/volumes.yaml has changed, and this script does not find the thresholds"

cat >"$state/prometheus.yml" <<YAML
global: {scrape_interval: 2s, scrape_timeout: 2s, evaluation_interval: 2s}
rule_files: [$state/rules/*.yaml]
alerting:
  alertmanagers:
    - static_configs: [{targets: ['$alertmanager']}]
scrape_configs:
  - job_name: kubevoltracker
    honor_labels: true
    static_configs: [{targets: ['$tracker'], labels: {cluster: demo}}]
YAML
# Nobody is notified: the demo asks Alertmanager. Here a receiver for mail or chat would be.
cat >"$state/alertmanager.yml" <<'YAML'
route: {receiver: nobody, group_by: [alertname, cluster, namespace], group_wait: 1s, group_interval: 5s, repeat_interval: 12h}
receivers: [{name: nobody}]
YAML
