-- What storage an owner, a group or a namespace used in a window: the claims, with their volumes, and the backing stores
-- that pods name themselves. Not how long it was in use in all: used_since and used_until are the first and the last
-- moment, and a use that lasts has no end.
-- Millions of mounts can be in a window. So they are summed up by what they say themselves, and what a claim says of them is looked up
-- for the sums; the names of volumes and backing stores are read for the rows that are shown.
WITH
{{template "uses_chosen.sql" .}},
sums AS
(
    SELECT
        cluster, namespace, owner, groups, claim_uid, claim_name, volume_uid, source_kind, source_id, workload_kind, workload_name,
        uniqExactState({{template "pod_hash.sql"}}) AS pods,
        min(started_at) AS used_since,
        if(countIf(ended_at IS NULL) > 0, NULL, max(ended_at)) AS used_until
    FROM chosen
    GROUP BY cluster, namespace, owner, groups, claim_uid, claim_name, volume_uid, source_kind, source_id, workload_kind, workload_name
),
owned AS
(
    SELECT
        {{template "history_owned.sql"}},
        concat(s.workload_kind, '/', s.workload_name) AS workload, s.pods AS pods, s.used_since AS used_since, s.used_until AS used_until
    FROM sums AS s
    LEFT JOIN (SELECT cluster, uid, volume_uid, storage_class, owner, groups FROM claims FINAL WHERE {{template "uses_of.sql" .}}) AS c
        ON {{same "c.cluster, c.uid" "s.cluster, s.claim_uid"}}
),
used AS
(
    SELECT
        any(o.cluster) AS cluster, any(o.namespace) AS namespace, any(o.owner) AS owner, any(o.groups) AS groups, any(o.claim_uid) AS claim_uid, any(o.claim) AS claim,
        any(o.volume_uid) AS volume_uid, any(o.claim_class) AS claim_class, any(o.source) AS source, any(o.source_id) AS source_id,
        arraySort(groupUniqArray(o.workload)) AS workloads,
        uniqExactMerge(o.pods) AS pods,
        min(o.used_since) AS used_since,
        if(countIf(o.used_until IS NULL) > 0, NULL, max(o.used_until)) AS used_until
    FROM owned AS o
    WHERE {{template "owned_class.sql"}}
    GROUP BY {{hashes "o.cluster, o.namespace, o.owner, o.groups, o.claim_uid, o.claim, o.volume_uid, o.source, o.source_id"}}
    ORDER BY used_until IS NULL DESC, used_until DESC, used_since DESC, cluster, namespace, owner, groups, claim, source, source_id, claim_uid, volume_uid
    LIMIT {limit:UInt64}
)
{{template "history_named.sql"}}