-- Which applications run on a volume: the workloads whose pods have it mounted, at a moment or in a window.
-- A use that lasts has no end.
WITH
{{template "uses.sql" .}}
SELECT
    u.cluster AS cluster,
    u.persistentvolume AS persistentvolume,
    u.namespace AS namespace,
    u.workload AS workload,
    u.claim AS claim,
    u.owner AS owner,
    u.groups AS groups,
    min(u.read_only) AS read_only,
    arraySort(groupUniqArray(u.node)) AS nodes,
    uniqExact(u.pod_uid) AS pods,
    min(u.started_at) AS used_since,
    if(countIf(u.ended_at IS NULL) > 0, NULL, max(u.ended_at)) AS used_until
FROM uses AS u
GROUP BY cluster, u.volume_uid, persistentvolume, namespace, workload, claim, owner, groups
ORDER BY used_until IS NULL DESC, used_until DESC, cluster, persistentvolume, u.volume_uid, namespace, workload, claim, owner, groups
LIMIT {limit:UInt64}
