-- Who uses a volume: the owners, groups and namespaces of the pods that have it mounted, at a moment or in a window.
-- A use that lasts has no end.
WITH
{{template "uses.sql" .}}
SELECT
    cluster,
    persistentvolume,
    namespace,
    owner,
    groups,
    arraySort(groupUniqArray(workload)) AS workloads,
    uniqExact(pod_uid) AS pods,
    min(started_at) AS used_since,
    if(countIf(ended_at IS NULL) > 0, NULL, max(ended_at)) AS used_until
FROM uses
GROUP BY cluster, volume_uid, persistentvolume, namespace, owner, groups
ORDER BY used_until IS NULL DESC, used_until DESC, cluster, persistentvolume, volume_uid, namespace, owner, groups
LIMIT {limit:UInt64}
