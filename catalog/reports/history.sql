-- What storage an owner, a group or a namespace used in a window: the claims, with their volumes, and the backing stores
-- that pods name themselves. Not how long it was in use in all: used_since and used_until are the first and the last
-- moment, and a use that lasts has no end.
-- Owner and groups are those of the pod, else those of its claim, as in uses.sql. A whole cluster uses much in a window, so the mounts
-- are summed up by hashes of what a row is of, and the names of volumes and backing stores are read for the sums.
WITH
{{template "uses_chosen.sql" .}},
sums AS
(
    SELECT
        any(u.cluster) AS cluster, any(u.namespace) AS namespace, any(u.owner) AS owner, any(u.groups) AS groups, any(u.claim_uid) AS claim_uid, any(u.claim_name) AS claim,
        any(u.volume_uid) AS volume_uid, any(u.claim_class) AS claim_class, any(u.source_kind) AS source, any(u.source_id) AS source_id,
        arraySort(groupUniqArray(u.workload)) AS workloads,
        uniqExact(u.pod_uid) AS pods,
        min(u.started_at) AS used_since,
        if(countIf(u.ended_at IS NULL) > 0, NULL, max(u.ended_at)) AS used_until
    FROM
    (
        SELECT
            m.cluster AS cluster, m.namespace AS namespace, m.claim_uid AS claim_uid, m.claim_name AS claim_name, m.source_kind AS source_kind, m.source_id AS source_id,
            m.pod_uid AS pod_uid, m.started_at AS started_at, m.ended_at AS ended_at,
            if(m.volume_uid != '', m.volume_uid, c.volume_uid) AS volume_uid,
            if(p.owner != '', p.owner, c.owner) AS owner,
            if(notEmpty(p.groups), p.groups, c.groups) AS groups,
            c.storage_class AS claim_class,
            p.workload AS workload
        FROM chosen AS m
        LEFT JOIN
        (
            SELECT cluster, uid, owner, groups, toLowCardinality(if(workload_name = '', concat('Pod/', name), concat(workload_kind, '/', workload_name))) AS workload
            FROM pods FINAL
            WHERE {{template "uses_pods.sql" .}}
        ) AS p ON {{same "p.cluster, p.uid" "m.cluster, m.pod_uid"}}
        LEFT JOIN
        (
            SELECT cluster, uid, volume_uid, storage_class, owner, groups
            FROM claims FINAL
            WHERE {{template "uses_of.sql" .}}
        ) AS c ON {{same "c.cluster, c.uid" "m.cluster, m.claim_uid"}}
        WHERE ({owner:String} = '' OR owner = {owner:String})
          AND ({group:String} = '' OR has(groups, {group:String}))
          AND ({workload:String} = '' OR workload = {workload:String} OR substring(workload, position(workload, '/') + 1) = {workload:String})
    ) AS u
    GROUP BY {{hashes "u.cluster, u.namespace, u.owner, u.groups, u.claim_uid, u.volume_uid, u.source_kind, u.source_id"}}
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
