#!/usr/bin/env bash
# Keeps storage moving in the demo's cluster until it is stopped: the web tier scales, reports
# run between their times, builds come and go with their ephemeral volumes, Kafka loses and
# regains a broker.
set -u
kubectl=("$1" kubectl)

for ((i = 1; ; i++)); do
  "${kubectl[@]}" -n shop scale deployment web --replicas=$((2 + i % 3))
  "${kubectl[@]}" -n analytics scale statefulset kafka --replicas=$((2 + i % 2))
  "${kubectl[@]}" -n analytics create job --from=cronjob/daily-report "adhoc-report-$i"
  "${kubectl[@]}" -n ci apply -f - <<YAML
apiVersion: batch/v1
kind: Job
metadata: {name: build-$i}
spec:
  ttlSecondsAfterFinished: 5
  template:
    metadata:
      labels: {app: build, owner: kim}
      annotations: {localcluster.kubevoltracker.io/run-seconds: "6"}
    spec:
      restartPolicy: Never
      containers:
      - name: build
        image: golang:1.26
        volumeMounts: [{name: scratch, mountPath: /go}]
      volumes:
      - name: scratch
        ephemeral:
          volumeClaimTemplate:
            spec: {accessModes: [ReadWriteOnce], storageClassName: late, resources: {requests: {storage: 30Gi}}}
YAML
  sleep 6
  ((i > 3)) && "${kubectl[@]}" -n analytics delete job "adhoc-report-$((i - 3))" --ignore-not-found --wait=false
done
