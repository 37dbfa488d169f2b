-- Included by other reports: one row per mount that was in use between {since} and {until}, with its pod, claim,
-- volume and backing store. Both are the same for a moment, and both are the end of time for "now", so
-- that a node whose clock is ahead is not missed.
-- Owner and groups are those of the pod, else those of its claim. A pod without a controller is its own workload.
-- A mount that was written before its volume was known has the volume of its claim.
-- Each table says FINAL itself: see Report.explicit. Hashes are joined instead of names: that is several times as fast.
{{template "uses_chosen.sql" .}},
uses AS
(
    SELECT
        m.cluster AS cluster,
        m.namespace AS namespace,
        m.pod_uid AS pod_uid,
        p.name AS pod,
        p.node AS node,
        if(p.owner != '', p.owner, c.owner) AS owner,
        if(notEmpty(p.groups), p.groups, c.groups) AS groups,
        if(p.workload_name = '', concat('Pod/', p.name), concat(p.workload_kind, '/', p.workload_name)) AS workload,
        m.container AS container,
        m.mount_path AS mount_path,
        m.read_only AS read_only,
        m.claim_uid AS claim_uid,
        m.claim_name AS claim,
        if(m.volume_uid != '', m.volume_uid, c.volume_uid) AS volume_uid,
        v.name AS persistentvolume,
        if(v.storage_class != '', v.storage_class, c.storage_class) AS storage_class,
        m.source_kind AS source,
        m.source_id AS source_id,
        trim(concat(s.driver, ' ', s.server, if(s.server = '' OR s.path = '', '', ':'), s.path)) AS backend,
        m.started_at AS started_at,
        m.started_not_before AS started_not_before,
        m.ended_at AS ended_at,
        m.ended_not_before AS ended_not_before,
        m.end_reason AS end_reason
    FROM chosen AS m
    LEFT JOIN
    (
        SELECT cluster, uid, name, node, owner, groups, workload_kind, workload_name
        FROM pods FINAL
        WHERE {{template "uses_pods.sql" .}}
    ) AS p ON {{same "p.cluster, p.uid" "m.cluster, m.pod_uid"}}
    LEFT JOIN
    (
        SELECT cluster, uid, volume_uid, storage_class, owner, groups
        FROM claims FINAL
        WHERE (cluster, namespace, uid) IN (SELECT cluster, namespace, claim_uid FROM touched)
    ) AS c ON {{same "c.cluster, c.uid" "m.cluster, m.claim_uid"}}
    LEFT JOIN
    (
        SELECT cluster, uid, name, storage_class
        FROM volumes FINAL
        WHERE (cluster, uid) IN (SELECT cluster, volume_uid FROM touched)
           OR (cluster, uid) IN (SELECT cluster, volume_uid FROM claims FINAL WHERE (cluster, namespace, uid) IN (SELECT cluster, namespace, claim_uid FROM touched WHERE volume_uid = ''))
    ) AS v
        ON {{same "v.cluster, v.uid" "m.cluster, if(m.volume_uid != '', m.volume_uid, c.volume_uid)"}}
    LEFT JOIN
    (
        SELECT cluster, id, driver, server, path FROM volume_sources FINAL WHERE (cluster, id) IN (SELECT cluster, source_id FROM touched)
    ) AS s ON {{same "s.cluster, s.id" "m.cluster, m.source_id"}}
{{- if ne . "at"}}
    WHERE ({owner:String} = '' OR owner = {owner:String})
      AND ({group:String} = '' OR has(groups, {group:String}))
      AND ({storageclass:String} = '' OR storage_class = {storageclass:String})
      AND ({workload:String} = '' OR workload = {workload:String} OR substring(workload, position(workload, '/') + 1) = {workload:String})
{{- end}}
)
