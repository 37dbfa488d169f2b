-- What storage an owner, a group or a namespace used in a window: the claims, with their volumes, and the backing stores
-- that pods name themselves. Not how long it was in use in all: used_since and used_until are the first and the last
-- moment, and a use that lasts has no end.
WITH
{{template "uses.sql" .}}
SELECT
    cluster,
    namespace,
    owner,
    groups,
    claim,
    persistentvolume,
    storage_class,
    source,
    backend,
    arraySort(groupUniqArray(workload)) AS workloads,
    uniqExact(pod_uid) AS pods,
    min(started_at) AS used_since,
    if(countIf(ended_at IS NULL) > 0, NULL, max(ended_at)) AS used_until
FROM uses
GROUP BY cluster, namespace, owner, groups, claim_uid, claim, volume_uid, persistentvolume, storage_class, source, source_id, backend
ORDER BY used_until IS NULL DESC, used_until DESC, used_since DESC, cluster, namespace, owner, groups, claim, persistentvolume, source, source_id, claim_uid, volume_uid
LIMIT {limit:UInt64}
