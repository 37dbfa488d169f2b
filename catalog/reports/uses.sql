-- Included by other reports: one row per mount that was in use between {since} and {until}, with its claim,
-- volume and backing store. {since} and {until} are the same for a moment. For "now" they are the end of time,
-- because a node whose clock is fast can date a start after now.
-- Each table that needs FINAL has it. Joins compare keys, which is several times as fast as names.
{{template "uses_chosen.sql" .}},
{{template "owned.sql" .}},
uses AS
(
    SELECT
        o.cluster AS cluster, o.namespace AS namespace, o.pod_uid AS pod_uid, o.owner AS owner, o.groups AS groups,
        o.workload AS workload, o.node AS node, o.container AS container, o.mount_path AS mount_path, o.read_only AS read_only, o.claim_uid AS claim_uid, o.claim AS claim, o.volume_uid AS volume_uid,
        o.source AS source, o.source_id AS source_id, o.started_at AS started_at, o.started_not_before AS started_not_before, o.ended_at AS ended_at, o.ended_not_before AS ended_not_before, o.end_reason AS end_reason,
        v.name AS persistentvolume,
        if(v.storage_class != '', v.storage_class, o.claim_class) AS storage_class,
        trim(concat(s.driver, ' ', s.server, if(s.server = '' OR s.path = '', '', ':'), s.path)) AS backend
    FROM owned AS o
    LEFT JOIN
    (
        SELECT uid_key, name, storage_class
        FROM volumes FINAL
        PREWHERE uid_key IN (SELECT {{key "cluster, volume_uid"}} FROM touched)
           OR uid_key IN (SELECT volume_key FROM claims FINAL WHERE (cluster, namespace, uid) IN (SELECT cluster, namespace, claim_uid FROM touched WHERE volume_uid = ''))
    ) AS v ON v.uid_key = {{key "o.cluster, o.volume_uid"}}
    LEFT JOIN
    (
        SELECT id_key, driver, server, path FROM volume_sources FINAL PREWHERE id_key IN (SELECT {{key "cluster, source_id"}} FROM touched)
    ) AS s ON s.id_key = {{key "o.cluster, o.source_id"}}
    WHERE true{{filter "storage_class"}}
)
