{{- /* Included by pod.sql and workload.sql: the mounts of the pods in pod_ids, and no volumes. */ -}}
(
    SELECT groupUniqArray((cluster, namespace, claim_name, pod_created_at, pod_uid)) FROM mounts
    WHERE (cluster, namespace, pod_created_at, pod_uid) IN (SELECT cluster, namespace, created_at, uid FROM its_pods)
) AS mount_ids,
CAST([], 'Array(Tuple(String, String, Array(Tuple(DateTime64(6), DateTime64(6)))))') AS volume_ids,
CAST([], 'Array(Tuple(String, String, String))') AS binding_ids,
