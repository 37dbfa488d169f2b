-- What storage was used in a window: the claims, with their volumes, and the backing stores
-- that pods name themselves. Not how long it was in use in all: used_since and used_until are the first and the last
-- moment, and a use that lasts has no end.
-- This is asked of more than a namespace, an owner or a group. The rows that are shown are chosen by their times alone, and pods, workloads and names are looked up for
-- these.
WITH
{{template "uses_chosen.sql" .}},
sums AS
(
    SELECT
        any(m.cluster) AS cluster, any(m.namespace) AS namespace, any(m.owner) AS owner, any(m.groups) AS groups, any(m.claim_uid) AS claim_uid, any(m.claim_name) AS claim_name,
        any(m.volume_uid) AS volume_uid, any(m.source_kind) AS source_kind, any(m.source_id) AS source_id,
        min(m.began) AS used_since,
        if(countIf(m.ended IS NULL) > 0, NULL, max(m.ended)) AS used_until
    FROM
    (
        SELECT cluster, namespace, owner, groups, claim_uid, claim_name, volume_uid, source_kind, source_id, started_at AS began, ended_at AS ended
        FROM chosen
{{- if eq . "quarters"}}
        UNION ALL
        SELECT cluster, namespace, owner, groups, claim_uid, claim_name, volume_uid, source_kind, source_id, first_started_at, last_ended_at
        FROM ({{template "summed_mounts.sql" .}})
{{- end}}
    ) AS m
    GROUP BY {{hashes "m.cluster, m.namespace, m.owner, m.groups, m.claim_uid, m.claim_name, m.volume_uid, m.source_kind, m.source_id"}}
),
shown AS
(
    SELECT
        any(o.cluster) AS cluster, any(o.namespace) AS namespace, any(o.owner) AS owner, any(o.groups) AS groups, any(o.claim_uid) AS claim_uid, any(o.claim) AS claim,
        any(o.volume_uid) AS volume_uid, any(o.claim_class) AS claim_class, any(o.source) AS source, any(o.source_id) AS source_id,
        min(o.used_since) AS used_since,
        if(countIf(o.used_until IS NULL) > 0, NULL, max(o.used_until)) AS used_until
    FROM
    (
        SELECT {{template "history_owned.sql"}}, s.used_since AS used_since, s.used_until AS used_until
        FROM sums AS s
        LEFT JOIN (SELECT cluster, uid, volume_uid, storage_class, owner, groups FROM claims FINAL WHERE {{template "uses_of.sql" .}}) AS c
            ON {{same "c.cluster, c.uid" "s.cluster, s.claim_uid"}}
    ) AS o
    WHERE {{template "owned_class.sql"}}
    GROUP BY {{hashes "o.cluster, o.namespace, o.owner, o.groups, o.claim_uid, o.claim, o.volume_uid, o.source, o.source_id"}}
    ORDER BY used_until IS NULL DESC, used_until DESC, used_since DESC, cluster, namespace, owner, groups, claim, source, source_id, claim_uid, volume_uid
    LIMIT {limit:UInt64}
),
(SELECT groupArray((cluster, namespace, owner, groups, claim_uid, claim, volume_uid, claim_class, source, source_id, used_since, used_until)) FROM shown) AS rows_shown,
listed AS
(
    SELECT
        r.1 AS cluster, r.2 AS namespace, r.3 AS owner, r.4 AS groups, r.5 AS claim_uid, r.6 AS claim, r.7 AS volume_uid, r.8 AS claim_class, r.9 AS source, r.10 AS source_id,
        r.11 AS used_since, r.12 AS used_until
    FROM (SELECT arrayJoin(rows_shown) AS r)
),
arrayDistinct(arrayMap(r -> (r.1, r.2, r.6), rows_shown)) AS claims_shown,
used AS
(
    SELECT
        l.cluster AS cluster, l.namespace AS namespace, l.owner AS owner, l.groups AS groups, l.claim_uid AS claim_uid, l.claim AS claim, l.volume_uid AS volume_uid,
        l.claim_class AS claim_class, l.source AS source, l.source_id AS source_id, l.used_since AS used_since, l.used_until AS used_until, p.workloads AS workloads, p.pods AS pods
    FROM
    (
        SELECT
            any(o.cluster) AS cluster, any(o.namespace) AS namespace, any(o.owner) AS owner, any(o.groups) AS groups, any(o.claim_uid) AS claim_uid, any(o.claim) AS claim,
            any(o.volume_uid) AS volume_uid, any(o.source) AS source, any(o.source_id) AS source_id,
            arraySort(groupUniqArray(concat(o.workload_kind, '/', o.workload_name))) AS workloads,
            uniqExactIf(o.pod, o.pods_apart = 0) + sum(o.pods_apart) AS pods
        FROM
        (
            SELECT {{template "history_owned.sql"}}, s.workload_kind AS workload_kind, s.workload_name AS workload_name, s.pod AS pod, s.pods_apart AS pods_apart
            FROM
            (
                SELECT *, {{template "pod_hash.sql"}} AS pod, 0 AS pods_apart FROM ({{template "shown_mounts.sql" .}})
{{- if eq . "quarters"}}
                UNION ALL
                SELECT cluster, namespace, claim_name, claim_uid, volume_uid, source_kind, source_id, workload_kind, workload_name, owner, groups, '', 0, pods
                FROM mounts_quarterly FINAL
                WHERE {{template "in_quarters.sql"}} AND {{template "of_shown.sql"}}
{{- end}}
            ) AS s
            LEFT JOIN (SELECT cluster, uid, volume_uid, storage_class, owner, groups FROM claims FINAL WHERE (cluster, namespace, name) IN (SELECT c.1, c.2, c.3 FROM (SELECT arrayJoin(claims_shown) AS c))) AS c
                ON {{same "c.cluster, c.uid" "s.cluster, s.claim_uid"}}
        ) AS o
        GROUP BY {{hashes "o.cluster, o.namespace, o.owner, o.groups, o.claim_uid, o.claim, o.volume_uid, o.source, o.source_id"}}
    ) AS p
    RIGHT JOIN listed AS l ON {{same "p.cluster, p.namespace, p.owner, p.groups, p.claim_uid, p.claim, p.volume_uid, p.source, p.source_id" "l.cluster, l.namespace, l.owner, l.groups, l.claim_uid, l.claim, l.volume_uid, l.source, l.source_id"}}
)
{{template "history_named.sql"}}