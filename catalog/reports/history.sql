-- What storage an owner, a group or a namespace used in a window: the claims, with their volumes, and the backing stores
-- that pods name themselves. Not how long it was in use in all: used_since and used_until are the first and the last
-- moment, and a use that lasts has no end.
-- A whole cluster uses much in a window, so the mounts are summed up by hashes of what a row is of, and the names of volumes and backing
-- stores are read for the sums.
WITH
{{template "uses_chosen.sql" .}},
sums AS
(
    SELECT
        any(o.cluster) AS cluster, any(o.namespace) AS namespace, any(o.owner) AS owner, any(o.groups) AS groups, any(o.claim_uid) AS claim_uid, any(o.claim) AS claim,
        any(o.volume_uid) AS volume_uid, any(o.claim_class) AS claim_class, any(o.source) AS source, any(o.source_id) AS source_id,
        arraySort(groupUniqArray(o.workload)) AS workloads,
        uniqExact(o.pod_uid) AS pods,
        min(o.started_at) AS used_since,
        if(countIf(o.ended_at IS NULL) > 0, NULL, max(o.ended_at)) AS used_until
    FROM owned AS o
    GROUP BY {{hashes "o.cluster, o.namespace, o.owner, o.groups, o.claim_uid, o.volume_uid, o.source, o.source_id"}}
)
SELECT
    h.cluster AS cluster,
    h.namespace AS namespace,
    h.owner AS owner,
    h.groups AS groups,
    h.claim AS claim,
    v.name AS persistentvolume,
    if(v.storage_class != '', v.storage_class, h.claim_class) AS storage_class,
    h.source AS source,
    trim(concat(s.driver, ' ', s.server, if(s.server = '' OR s.path = '', '', ':'), s.path)) AS backend,
    h.workloads AS workloads,
    h.pods AS pods,
    h.used_since AS used_since,
    h.used_until AS used_until
FROM sums AS h
LEFT JOIN (SELECT cluster, uid, name, storage_class FROM volumes FINAL) AS v ON {{same "v.cluster, v.uid" "h.cluster, h.volume_uid"}}
LEFT JOIN (SELECT cluster, id, driver, server, path FROM volume_sources FINAL) AS s ON {{same "s.cluster, s.id" "h.cluster, h.source_id"}}
WHERE {storageclass:String} = '' OR storage_class = {storageclass:String}
ORDER BY used_until IS NULL DESC, used_until DESC, used_since DESC, cluster, namespace, owner, groups, claim, persistentvolume, source, source_id, claim_uid, volume_uid
LIMIT {limit:UInt64}
