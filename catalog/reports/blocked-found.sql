-- Finds what waits: pods that have not started, with the claims that they name, beside the other Pending pods that name these; and claims that
-- are to be deleted, which have no pod_uid. Mostly nothing does.
WITH
{{template "blocked_waits.sql"}}
waits AS
(
    SELECT cluster, namespace, claim_name, '' AS uid, pod_uid, pod, node, created_at, owner, groups, workload, is_started, toDateTime64(0, 6, 'UTC') AS asked_at FROM wanted
    UNION ALL
    SELECT d.cluster, c.namespace, c.name, d.uid, '', '', '', toDateTime64(0, 6, 'UTC'), '', CAST([], 'Array(String)'), '', false, d.asked_at
    FROM deleting AS d INNER JOIN awaited AS c ON c.cluster = d.cluster AND c.uid = d.uid
)
SELECT
    c.cluster AS cluster, c.namespace AS namespace, c.name AS claim_name, c.uid AS claim_uid, c.storage_class AS storage_class, c.volume_uid AS volume_uid,
    c.volume_name AS volume_name, c.access_modes AS access_modes, c.owner AS claim_owner, c.groups AS claim_groups, c.ephemeral AS ephemeral, c.pod_uid AS made_for,
    c.volume_key AS volume_key,
    w.pod_uid AS pod_uid, w.pod AS pod, w.node AS node, w.created_at AS pod_created_at, w.owner AS pod_owner, w.groups AS pod_groups, w.workload AS workload,
    w.is_started AS is_started, w.asked_at AS asked_at
FROM waits AS w
INNER JOIN awaited AS c ON c.cluster = w.cluster AND c.namespace = w.namespace AND c.name = w.claim_name
WHERE w.uid IN ('', c.uid)
