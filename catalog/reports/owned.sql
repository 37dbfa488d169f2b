{{- /* Included by uses.sql and other reports, behind uses_chosen.sql: the selected mounts with columns of their claims. */ -}}
-- Owner and groups come from the pod, else from its claim.
-- A mount that was written before its volume was known gets the volume of its claim.
owned AS
(
    SELECT
        m.cluster AS cluster,
        m.namespace AS namespace,
        m.pod_uid AS pod_uid,
        m.pod_created_at AS pod_created_at,
        if(m.owner != '', m.owner, c.owner) AS owner,
        if(notEmpty(m.groups), m.groups, c.groups) AS groups,
        concat(m.workload_kind, '/', m.workload_name) AS workload,
        m.node AS node,
        m.container AS container,
        m.mount_path AS mount_path,
        m.read_only AS read_only,
        m.claim_uid AS claim_uid,
        m.claim_name AS claim,
        if(m.volume_uid != '', m.volume_uid, c.volume_uid) AS volume_uid,
        c.storage_class AS claim_class,
        m.source_kind AS source,
        m.source_id AS source_id,
        m.started_at AS started_at,
        m.started_not_before AS started_not_before,
        m.ended_at AS ended_at,
        m.ended_not_before AS ended_not_before,
        m.end_reason AS end_reason
    FROM chosen AS m
    LEFT JOIN
    (
        SELECT uid_key, volume_uid, storage_class, owner, groups
        FROM claims FINAL
{{- if or (eq . "window") (given "namespace" "owner" "group")}}
        WHERE {{template "uses_of.sql" .}}{{if given "volume"}} AND (cluster, namespace, uid) IN (SELECT cluster, namespace, claim_uid FROM touched){{end}}
{{- else}}
        WHERE (cluster, namespace, uid) IN (SELECT cluster, namespace, claim_uid FROM touched)
{{- end}}
    ) AS c ON c.uid_key = {{key "m.cluster, m.claim_uid"}}
)
