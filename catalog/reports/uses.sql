-- Included by other reports: one row per mount that was in use between {since} and {until}, with its pod, claim,
-- volume and backing store. Both are the same for a moment, and both are the end of time for "now", so
-- that a node whose clock is ahead is not missed.
-- Owner and groups are those of the pod, else those of its claim. A pod without a controller is its own workload.
-- A mount that was written before its volume was known has the volume of its claim.
-- The mounts are chosen first, so that only their pods are read, by their keys.
chosen AS
(
    SELECT *
    FROM mounts
    WHERE ({cluster:String} = '' OR cluster = {cluster:String})
      AND ({namespace:String} = '' OR namespace = {namespace:String})
{{- if ne . "ever"}}
      AND started_at <= {until:DateTime64(6, 'UTC')}
      AND (ended_at IS NULL OR ended_at > {since:DateTime64(6, 'UTC')})
{{- end}}
      AND ({volume:String} = ''
           OR (cluster, volume_uid) IN ({{template "named_volumes.sql"}})
           OR volume_uid = '' AND (cluster, claim_uid) IN
              (SELECT cluster, uid FROM claims WHERE (cluster, volume_uid) IN ({{template "named_volumes.sql"}})))
),
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
        FROM pods
        WHERE (cluster, namespace, uid) IN (SELECT cluster, namespace, pod_uid FROM chosen)
    ) AS p ON p.cluster = m.cluster AND p.uid = m.pod_uid
    LEFT JOIN
    (
        SELECT cluster, uid, volume_uid, storage_class, owner, groups
        FROM claims
        WHERE (cluster, namespace, uid) IN (SELECT cluster, namespace, claim_uid FROM chosen)
    ) AS c ON c.cluster = m.cluster AND c.uid = m.claim_uid
    LEFT JOIN (SELECT cluster, uid, name, storage_class FROM volumes) AS v
        ON v.cluster = m.cluster AND v.uid = if(m.volume_uid != '', m.volume_uid, c.volume_uid)
    LEFT JOIN (SELECT cluster, id, driver, server, path FROM volume_sources) AS s ON s.cluster = m.cluster AND s.id = m.source_id
    WHERE ({owner:String} = '' OR owner = {owner:String})
      AND ({group:String} = '' OR has(groups, {group:String}))
      AND ({storageclass:String} = '' OR storage_class = {storageclass:String})
      AND ({workload:String} = '' OR workload = {workload:String} OR substring(workload, position(workload, '/') + 1) = {workload:String})
)
