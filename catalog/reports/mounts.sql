-- Who mounts what, latest first. The report reads the mounts that started at {earliest} or later, of pods that were
-- created at {oldest} or later: mounts-first.sql finds both times, so that {limit} rows are among them. nearby has the
-- keys of their pods, containers and volumes. If the report shows few rows, nearby is computed once, as an array: ClickHouse
-- computes a query again for each place that names it. Each table that needs FINAL has it.
WITH
{{template "its_volumes.sql"}}
{{template "of_class.sql"}}
{{if fewRows}}
(
    SELECT groupArray((cluster, namespace, pod_created_at, pod_uid, claim_uid, volume_uid, source_id))
    {{template "mounts_nearby.sql"}}
) AS nearby_rows,
nearby AS
(
    SELECT r.1 AS cluster, r.2 AS namespace, r.3 AS pod_created_at, r.4 AS pod_uid, r.5 AS claim_uid, r.6 AS volume_uid, r.7 AS source_id
    FROM (SELECT arrayJoin(nearby_rows) AS r)
)
{{else}}
nearby AS
(
    SELECT cluster, namespace, pod_created_at, pod_uid, claim_uid, volume_uid, source_id
    {{template "mounts_nearby.sql"}}
)
{{end}},
(
    SELECT groupArray((uid_key, volume_key)) FROM claims FINAL
    WHERE volume_uid != '' AND (cluster, namespace, uid) IN (SELECT cluster, namespace, claim_uid FROM nearby WHERE volume_uid = '' AND claim_uid != '')
) AS claims_nearby
SELECT
    m.cluster AS cluster,
    m.namespace AS namespace,
    p.name AS pod,
    m.container AS container,
    c.kind AS kind,
    concat(m.workload_kind, '/', m.workload_name) AS workload,
    m.volume AS volume,
    m.mount_path AS mount_path,
    m.read_only AS read_only,
    m.claim_name AS claim,
    v.name AS persistentvolume,
    m.source_kind AS source,
    trim(concat(s.driver, ' ', s.server, if(s.server = '' OR s.path = '', '', ':'), s.path)) AS backend,
    m.started_at AS started_at,
    m.ended_at AS ended_at,
    -- only where the end is not known exactly
    if(m.ended_not_before = m.ended_at, NULL, m.ended_not_before) AS ended_not_before,
    m.end_reason AS end_reason
FROM
(
    SELECT *, ended_not_before
    FROM mounts FINAL
    WHERE pod_created_at >= {oldest:DateTime64(6, 'UTC')} AND started_at >= {earliest:DateTime64(6, 'UTC')} AND {{template "chosen_mounts.sql"}}
    ORDER BY started_at DESC
    LIMIT {limit:UInt64} WITH TIES -- keeps all rows that started together with the last one: the ORDER BY below compares their names
) AS m
LEFT JOIN
(
    SELECT cluster, uid, name
    FROM pods FINAL
    PREWHERE created_at IN (SELECT pod_created_at FROM nearby) -- a number of the sorting key: names are compared of fewer rows
    WHERE (cluster, namespace, created_at, uid) IN (SELECT cluster, namespace, pod_created_at, pod_uid FROM nearby)
) AS p ON p.cluster = m.cluster AND p.uid = m.pod_uid
LEFT JOIN
(
    SELECT cluster, pod_uid, name, kind
    FROM containers FINAL
    PREWHERE pod_created_at IN (SELECT pod_created_at FROM nearby)
    WHERE (cluster, namespace, pod_created_at, pod_uid) IN (SELECT cluster, namespace, pod_created_at, pod_uid FROM nearby)
) AS c ON c.cluster = m.cluster AND c.pod_uid = m.pod_uid AND c.name = m.container
LEFT JOIN
(
    SELECT uid_key AS used_key, name FROM volumes FINAL PREWHERE uid_key IN (SELECT {{key "cluster, volume_uid"}} FROM nearby)
    UNION ALL
    -- A mount that was written before its volume was known has the volume of its claim. Few mounts are so.
    SELECT c.claim_key, v.name
    FROM (SELECT k.1 AS claim_key, k.2 AS volume_key FROM (SELECT arrayJoin(claims_nearby) AS k)) AS c
    INNER JOIN
    (
        SELECT uid_key, name FROM volumes FINAL PREWHERE uid_key IN (SELECT k.2 FROM (SELECT arrayJoin(claims_nearby) AS k))
    ) AS v ON v.uid_key = c.volume_key
) AS v ON v.used_key = {{key "m.cluster, if(m.volume_uid = '', m.claim_uid, m.volume_uid)"}}
LEFT JOIN
(
    SELECT id_key, driver, server, path FROM volume_sources FINAL PREWHERE id_key IN (SELECT {{key "cluster, source_id"}} FROM nearby)
) AS s ON s.id_key = {{key "m.cluster, m.source_id"}}
ORDER BY started_at DESC, cluster, namespace, pod, m.pod_uid, container, volume, mount_path
LIMIT {limit:UInt64}
