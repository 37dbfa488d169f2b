-- Which applications run on a volume: the workloads whose pods have it mounted, at a moment or in a window.
-- A use that lasts has no end.
WITH
{{template "uses.sql" .}}
SELECT
    cluster,
    persistentvolume,
    namespace,
    workload,
    claim,
    owner,
    groups,
    min(read_only) AS read_only,
    arraySort(groupUniqArray(node)) AS nodes,
    uniqExact(pod_uid) AS pods,
    min(started_at) AS used_since,
    if(countIf(ended_at IS NULL) > 0, NULL, max(ended_at)) AS used_until
FROM uses
GROUP BY cluster, volume_uid, persistentvolume, namespace, workload, claim, owner, groups
ORDER BY used_until IS NULL DESC, used_until DESC, cluster, persistentvolume, volume_uid, namespace, workload, claim, owner, groups
LIMIT {limit:UInt64}
