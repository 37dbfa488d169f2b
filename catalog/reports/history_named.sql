{{- /* Included by history.sql and history-wide.sql: the rows of used, with the names of their volumes and backing stores. Used is on the right side of each join, which is held in
memory; all volumes and all backing stores pass by on the left. */ -}}
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
FROM (SELECT cluster, uid, name, storage_class FROM volumes FINAL WHERE {cluster:String} = '' OR cluster = {cluster:String}) AS v
RIGHT JOIN
(
    SELECT
        h.cluster AS cluster, h.namespace AS namespace, h.owner AS owner, h.groups AS groups, h.claim AS claim, h.claim_uid AS claim_uid, h.claim_class AS claim_class,
        h.volume_uid AS volume_uid, h.source AS source, h.source_id AS source_id, h.workloads AS workloads, h.pods AS pods, h.used_since AS used_since, h.used_until AS used_until,
        trim(concat(s.driver, ' ', s.server, if(s.server = '' OR s.path = '', '', ':'), s.path)) AS backend
    FROM (SELECT cluster, id, driver, server, path FROM volume_sources FINAL WHERE {cluster:String} = '' OR cluster = {cluster:String}) AS s
    RIGHT JOIN used AS h ON {{same "s.cluster, s.id" "h.cluster, h.source_id"}}
) AS u ON {{same "v.cluster, v.uid" "u.cluster, u.volume_uid"}}
ORDER BY used_until IS NULL DESC, used_until DESC, used_since DESC, cluster, namespace, owner, groups, claim, source, u.source_id, u.claim_uid, u.volume_uid
