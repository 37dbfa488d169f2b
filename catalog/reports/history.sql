-- What storage an owner, a group or a namespace used in a window: the claims, with their volumes, and the backing stores
-- that pods name themselves. used_since and used_until are the first and the last moment of use, not the time in use; used_until
-- is NULL while a use lasts.
-- A window can have millions of mounts. So the report groups them by their own columns first, looks up the claims of the groups,
-- and reads the names of volumes and backing stores only for the rows that it shows.
WITH
{{template "uses_chosen.sql" .}},
{{- if large .}}
-- Names are read only of the claims whose rows the report can show.
{{template "history_latest.sql" .}}
{{- end}}
-- place and row distinguish the rows of the report, as place_hash and row_hash of mounts_quarterly do.
sums AS
(
    SELECT
        any(m.cluster) AS cluster, any(m.namespace) AS namespace, any(m.owner) AS owner, any(m.groups) AS groups, any(m.claim_uid) AS claim_uid, any(m.claim_name) AS claim_name,
        any(m.volume_uid) AS volume_uid, any(m.source_kind) AS source_kind, any(m.source_id) AS source_id,
        {{key "cluster, claim_uid"}} AS claim_key, m.place AS place, m.row AS row,
        groupUniqArray(concat(m.workload_kind, '/', m.workload_name)) AS workloads,
        groupArray({{template "pod_hash.sql"}}) AS pods, 0 AS pods_apart,
        min(m.started_at) AS used_since,
        if(countIf(m.ended_at IS NULL) > 0, NULL, max(m.ended_at)) AS used_until
    FROM (SELECT *, {{template "history_claim.sql"}} AS place, {{template "history_row.sql"}} AS row FROM chosen{{if large .}} WHERE place IN (SELECT arrayJoin(claims_found)){{end}}) AS m
    GROUP BY m.place, m.row
{{- if quarters .}}
    UNION ALL
    SELECT
        any(m.cluster), any(m.namespace), any(m.owner), any(m.groups), any(m.claim_uid), any(m.claim_name), any(m.volume_uid), any(m.source_kind), any(m.source_id),
        any(m.claim_key), m.place_hash, m.row_hash,
        groupUniqArray(concat(m.workload_kind, '/', m.workload_name)),
        CAST([], 'Array(UInt64)'), sum(m.pods),
        min(m.first_started_at),
        if(countIf(m.last_ended_at IS NULL) > 0, NULL, max(m.last_ended_at))
    FROM ({{if large .}}{{template "summed_mounts.sql" (print "latest " .)}}{{else}}{{template "summed_mounts.sql" .}}{{end}}) AS m
    GROUP BY m.place_hash, m.row_hash
{{- end}}
),
-- Owner and groups come from the pod, else from its claim. A mount that was written before its volume was known gets
-- the volume of its claim.
owned AS
(
    SELECT
        s.cluster AS cluster, s.namespace AS namespace, s.claim_uid AS claim_uid, s.claim_name AS claim_name, s.source_kind AS source_kind, s.source_id AS source_id,
        if(s.owner != '', s.owner, c.owner) AS owner, if(notEmpty(s.groups), s.groups, c.groups) AS groups, if(s.volume_uid != '', s.volume_uid, c.volume_uid) AS volume_uid,
        c.storage_class AS claim_class, s.place AS place,
        if(s.owner != '' AND notEmpty(s.groups) AND s.volume_uid != '', s.row, {{template "history_row.sql"}}) AS row,
        s.workloads AS workloads, s.pods AS pods, s.pods_apart AS pods_apart, s.used_since AS used_since, s.used_until AS used_until
    FROM (SELECT uid_key, volume_uid, storage_class, owner, groups FROM claims FINAL WHERE {{template "in_namespaces.sql"}}) AS c
    RIGHT JOIN sums AS s ON c.uid_key = s.claim_key
),
used AS
(
    SELECT
        any(o.cluster) AS cluster, any(o.namespace) AS namespace, any(o.owner) AS owner, any(o.groups) AS groups, any(o.claim_uid) AS claim_uid, any(o.claim_name) AS claim,
        any(o.volume_uid) AS volume_uid, any(o.claim_class) AS claim_class, any(o.source_kind) AS source, any(o.source_id) AS source_id,
        groupArrayArray(o.workloads) AS workloads,
        uniqExactArray(o.pods) + sum(o.pods_apart) AS pods,
        min(o.used_since) AS used_since,
        if(countIf(o.used_until IS NULL) > 0, NULL, max(o.used_until)) AS used_until
    FROM owned AS o
    WHERE {{template "owned_class.sql"}}
    GROUP BY o.place, o.row
    ORDER BY used_until IS NULL DESC, used_until DESC, used_since DESC, cluster, namespace, owner, groups, claim, source, source_id, claim_uid, volume_uid
    LIMIT {limit:UInt64}
)
-- ClickHouse keeps the right side of a join in memory: that is the small table used. It streams all volumes and all
-- backing stores from the left.
SELECT
    u.cluster AS cluster,
    u.namespace AS namespace,
    u.owner AS owner,
    u.groups AS groups,
    u.claim AS claim,
    v.name AS persistentvolume,
    if(v.storage_class != '', v.storage_class, u.claim_class) AS storage_class,
    u.source AS source,
    u.backend AS backend,
    u.workloads AS workloads,
    u.pods AS pods,
    u.used_since AS used_since,
    u.used_until AS used_until
FROM (SELECT uid_key, name, storage_class FROM volumes FINAL WHERE true{{filter "cluster"}}) AS v
RIGHT JOIN
(
    SELECT
        h.cluster AS cluster, h.namespace AS namespace, h.owner AS owner, h.groups AS groups, h.claim AS claim, h.claim_uid AS claim_uid, h.claim_class AS claim_class,
        h.volume_uid AS volume_uid, h.source AS source, h.source_id AS source_id, arraySort(arrayDistinct(h.workloads)) AS workloads, h.pods AS pods, h.used_since AS used_since, h.used_until AS used_until,
        trim(concat(s.driver, ' ', s.server, if(s.server = '' OR s.path = '', '', ':'), s.path)) AS backend
    FROM (SELECT id_key, driver, server, path FROM volume_sources FINAL WHERE true{{filter "cluster"}}) AS s
    RIGHT JOIN used AS h ON s.id_key = {{key "h.cluster, h.source_id"}}
) AS u ON v.uid_key = {{key "u.cluster, u.volume_uid"}}
ORDER BY used_until IS NULL DESC, used_until DESC, used_since DESC, cluster, namespace, owner, groups, claim, source, u.source_id, u.claim_uid, u.volume_uid
