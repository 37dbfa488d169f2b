-- How many volumes each pod mounted, at a moment or in a window, most first. A backing store that the pod names itself
-- (hostPath, emptyDir, nfs, ...) counts as inline.
WITH
{{template "uses.sql" .}}
SELECT
    cluster,
    namespace,
    pod,
    workload,
    node,
    uniqExactIf(volume_uid, volume_uid != '') AS volumes,
    uniqExactIf((source, source_id), claim_uid = '') AS inline,
    arraySort(groupUniqArrayIf(claim, claim != '')) AS claims
FROM uses
GROUP BY cluster, namespace, pod_uid, pod, workload, node
ORDER BY volumes DESC, inline DESC, cluster, namespace, pod, pod_uid
LIMIT {limit:UInt64}
