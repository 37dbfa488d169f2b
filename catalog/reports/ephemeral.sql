-- The claims that were made for one pod each (generic ephemeral volumes), at a moment or in a window. Only their pods are read.
WITH chosen AS
(
    SELECT *
    FROM claims
    WHERE ephemeral{{filter "cluster" "namespace" "storage_class"}}
      AND (created_at IS NULL OR created_at <= {until:DateTime64(6, 'UTC')})
      AND (deleted_at IS NULL OR deleted_at > {since:DateTime64(6, 'UTC')})
)
SELECT
    c.cluster AS cluster,
    c.namespace AS namespace,
    c.name AS claim,
    p.name AS pod,
    multiIf(p.name = '', '', p.workload_name = '', concat('Pod/', p.name), concat(p.workload_kind, '/', p.workload_name)) AS workload,
    if(p.owner != '', p.owner, c.owner) AS owner,
    if(notEmpty(p.groups), p.groups, c.groups) AS groups,
    c.storage_class AS storage_class,
    if(c.phase = 'Pending', '', c.volume_name) AS persistentvolume,
    c.created_at AS created_at,
    c.deleted_at AS deleted_at,
    if(c.deleted_not_before = c.deleted_at, NULL, c.deleted_not_before) AS deleted_not_before,
    greatest(0, dateDiff('second', c.created_at, coalesce(c.deleted_at, {now:DateTime64(6, 'UTC')}))) AS lasted_seconds
FROM chosen AS c
LEFT JOIN
(
    SELECT cluster, uid, name, workload_kind, workload_name, owner, groups
    FROM pods
    WHERE (cluster, namespace) IN (SELECT cluster, namespace FROM chosen) AND uid IN (SELECT pod_uid FROM chosen)
) AS p ON p.cluster = c.cluster AND p.uid = c.pod_uid
WHERE true{{filter "owner" "groups"}}
{{- if given "workload"}}
  AND {{template "named_workload.sql" "workload"}}
{{- end}}
ORDER BY created_at DESC, cluster, namespace, claim, c.uid
LIMIT {limit:UInt64}
