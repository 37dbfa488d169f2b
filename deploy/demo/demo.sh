#!/usr/bin/env bash
# Shows the whole idea on real parts: a local Kubernetes control plane with a small company's
# storage in it, the tracker, the embedded ClickHouse, the first reports, and an alert that goes through
# Prometheus to Alertmanager. `make demo` builds what it needs first. It stays until Ctrl-C, or for
# DEMO_SECONDS seconds if that is set.
#
#   demo.sh [--idle-seconds=20] BIN_DIR STATE_DIR      a volume counts as idle after so many seconds
set -euo pipefail

idle_seconds=20
case ${1:-} in --idle-seconds=*) idle_seconds=${1#*=}; shift ;; esac
if [ $# != 2 ] || [[ ! $idle_seconds =~ ^[1-9][0-9]{0,8}$ ]]; then
  echo "demo.sh: want [--idle-seconds=SECONDS] BIN_DIR STATE_DIR, with whole seconds" >&2
  exit 2
fi
bin=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$2"
state=$(cd "$2" && pwd)
web=${DEMO_WEB:-127.0.0.1:9790}
clickhouse=${DEMO_CLICKHOUSE:-127.0.0.1:8123}
prometheus=${DEMO_PROMETHEUS:-127.0.0.1:9090}
alertmanager=${DEMO_ALERTMANAGER:-127.0.0.1:9093}
catalog=http://$clickhouse/kubevoltracker
export KUBECONFIG=$state/cluster/kubeconfig

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
fail() {
  printf 'demo: %s\n' "$1" >&2
  [ -z "${2:-}" ] || { tail -n 20 "$2" >&2; }
  exit 1
}

pids=()
stop() {
  trap - EXIT INT TERM
  # The last one started stops first; each is waited for, so that nothing is left behind.
  for ((i = ${#pids[@]} - 1; i >= 0; i--)); do
    kill "${pids[i]}" 2>/dev/null || true
    wait "${pids[i]}" 2>/dev/null || true
  done
}
trap stop EXIT
trap 'echo; exit 0' INT TERM

# alive PID NAME LOG: a part of the demo that has ended is an error, with its last words.
alive() { kill -0 "$1" 2>/dev/null || fail "$2 has ended:" "$3"; }

say "Starting Kubernetes (etcd, API server, controllers, scheduler, simulated nodes)"
rm -rf "$state/cluster" "$state/data" "$state/monitoring"
"$bin/localcluster" up --dir "$state/cluster" --exit-with-parent >"$state/cluster.out" 2>"$state/cluster.log" &
cluster=$!
pids+=("$cluster")
until grep -q '^ready' "$state/cluster.out"; do
  alive "$cluster" "the cluster" "$state/cluster.log"
  sleep 0.2
done
cat "$state/cluster.out"

say "Starting kubevoltracker"
# The nodes are simulated, and have no kubelets to ask.
"$bin/kubevoltracker" run --kubelet.interval=0s --cluster.name=demo --data-dir="$state/data" --web.listen-address="$web" \
  --catalog.embedded-listen-address="$clickhouse" 2>"$state/tracker.log" &
tracker=$!
pids+=("$tracker")
# ready asks /readyz, by bash alone.
ready() (
  exec 3<>"/dev/tcp/${web%:*}/${web##*:}" && printf 'GET /readyz HTTP/1.0\r\n\r\n' >&3 && head -n 1 <&3 | grep -q ' 200 '
) 2>/dev/null
until ready; do
  alive "$tracker" "the tracker" "$state/tracker.log"
  sleep 0.2
done
echo "ready; its log is $state/tracker.log"

say "Starting Prometheus with the rules of alerts/, and Alertmanager"
monitoring=$state/monitoring
"$here/configure-monitoring.sh" "$monitoring" "$idle_seconds" "$web" "$alertmanager"
"$bin/alertmanager" --config.file="$monitoring/alertmanager.yml" --storage.path="$monitoring/alertmanager" --cluster.listen-address= \
  --web.listen-address="$alertmanager" 2>"$state/alertmanager.log" &
pids+=($!)
"$bin/prometheus" --config.file="$monitoring/prometheus.yml" --storage.tsdb.path="$monitoring/prometheus" \
  --web.listen-address="$prometheus" 2>"$state/prometheus.log" &
pids+=($!)
echo "a volume counts as idle after $idle_seconds seconds, instead of 30 days"

say "Creating a small company's storage"
kubectl() { "$bin/localcluster" kubectl "$@"; }
# A pod is admitted once the service account of its new namespace is there.
for _ in 1 2 3 4 5; do
  kubectl apply -f "$here/company.yaml" >"$state/workload.log" 2>&1 && break
  sleep 1
done
kubectl -n legacy wait --for=condition=complete job/migration --timeout=60s >>"$state/workload.log"
kubectl -n legacy delete job/migration pvc/migration-dump >>"$state/workload.log"
for rollout in shop/statefulset/mysql shop/deployment/web analytics/statefulset/kafka legacy/statefulset/erp; do
  kubectl -n "${rollout%%/*}" rollout status "${rollout#*/}" --timeout=60s >>"$state/workload.log"
done
"$here/churn.sh" "$bin/localcluster" >"$state/churn.log" 2>&1 &
pids+=($!)
sleep 8 # a few rounds of it
kubectl get pvc -A

say "What the tracker knows"
cat <<TEXT
metrics     http://$web/metrics          (and http://$web/ for the rest)
ClickHouse  curl 'http://$clickhouse/?database=kubevoltracker&final=1' --data 'SELECT …'
kubectl     KUBECONFIG=$KUBECONFIG $bin/localcluster kubectl …
TEXT
report() { "$bin/kubevoltracker" report "$@" --catalog.url="$catalog"; }
say "kubevoltracker report space"
report space
say "kubevoltracker report idle"
report idle
say "kubevoltracker report mounts"
report mounts --limit=25

say "Waiting for an alert on a volume that nobody uses (legacy/old-exports)"
alerts() { "$bin/amtool" --alertmanager.url="http://$alertmanager" alert query "$@"; }
for ((s = 0; ; s++)); do
  alive "$tracker" "the tracker" "$state/tracker.log"
  alive "${pids[2]}" "Alertmanager" "$state/alertmanager.log"
  alive "${pids[3]}" "Prometheus" "$state/prometheus.log"
  alerts --output=simple alertname=~'VolumeIdleLong|VolumeNeverMounted' namespace=legacy 2>/dev/null | grep -q Volume && break
  ((s < 180 + idle_seconds)) || fail "no alert has fired:" "$state/prometheus.log"
  sleep 1
done
# One label or annotation a line.
alerts --output=extended alertname=~'VolumeIdleLong|VolumeNeverMounted' namespace=legacy | tail -n +2 |
  sed -E 's/^alertname=/\nalertname=/; s/ {2,}/\n/g; s/" ([a-z_]+=")/"\n\1/g'
cat <<TEXT

Prometheus    http://$prometheus/alerts
Alertmanager  http://$alertmanager
Keep it       KUBECONFIG=$KUBECONFIG $bin/localcluster kubectl -n legacy annotate pvc old-exports kubevoltracker.io/keep='until 2099-12-31: audit'
Grafana       Start one with the plugin grafana-clickhouse-datasource, add a data source Prometheus (http://$prometheus) and a data
              source ClickHouse (server ${clickhouse%:*}, port ${clickhouse##*:}, protocol HTTP, user default, database kubevoltracker), and import
              the files of dashboards/. deploy/compose has all four as containers.
TEXT

if [ -n "${DEMO_SECONDS:-}" ]; then
  say "Going on for $DEMO_SECONDS seconds"
  for ((s = 0; s < DEMO_SECONDS; s++)); do
    alive "$tracker" "the tracker" "$state/tracker.log"
    alive "$cluster" "the cluster" "$state/cluster.log"
    sleep 1
  done
  say "kubevoltracker report mounts --running, after all that"
  report mounts --running
else
  say "Going on until Ctrl-C"
  wait "$tracker" || fail "the tracker has ended:" "$state/tracker.log"
fi
