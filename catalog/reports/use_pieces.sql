{{- /* Included by use-hours.sql, use-hours-found.sql and the rollup use_seconds_daily. It comes behind began_micros and
ended_micros, the window, and windows.sql. Its argument is the kind of window; empty for the rollup; or "times" to
compute only how long the uses took, and not which pods are new. */ -}}
{{if given "volume"}}its_volumes AS ({{template "named_volumes.sql"}}),{{end}}
{{template "its_namespaces.sql" ""}}
use_keys AS
(
    {{template "use_keys.sql" .}}
),
{{- if ne . "times"}}
-- The mounts of the pods that used a claim in the window, with all mounts of the same claim by these pods: a pod is new
-- on the day of the first of them.
{{- end}}
of_pods AS
(
    SELECT
        cluster, namespace, claim_name, claim_uid, volume_uid, owner, groups, workload_kind, workload_name, pod_created_at, pod_uid,
        toUnixTimestamp64Micro(started_at) AS began, ifNull(toUnixTimestamp64Micro(ended_at), 9000000000000000) AS ended,
{{- if eq . "times"}}
        0 AS came
{{- else}}
        min(began) OVER (PARTITION BY {{key "cluster, pod_uid, claim_uid"}}) AS came
{{- end}}
    FROM mounts FINAL
{{- if eq . "times"}}
    WHERE {{template "use_keys_filter.sql" .}} AND ({{template "in_edge.sql" "before"}} OR {{template "in_edge.sql" "after"}})
      AND {{near "cluster, namespace, claim_name, pod_created_at" "use_keys"}}
{{- else}}
    WHERE claim_uid != ''
      AND {{among "cluster, namespace, claim_name, pod_created_at" "cluster, namespace, claim_name, pod_created_at FROM use_keys"}}
{{- end}}
      AND {{template "whose.sql"}}
),
-- The mounts with their owner and groups: those of the pod, else those of its claim.
of_workloads AS
(
    SELECT
        m.cluster AS cluster, m.namespace AS namespace, m.claim_name AS claim_name, m.claim_uid AS claim_uid, if(m.volume_uid != '', m.volume_uid, c.volume_uid) AS volume_uid,
        toString(m.workload_kind) AS workload_kind, toString(m.workload_name) AS workload_name,
        toString(if(m.owner != '', m.owner, c.owner)) AS owner, CAST(if(notEmpty(m.groups), m.groups, c.groups), 'Array(String)') AS groups,
        m.pod_uid AS pod_uid, m.began AS mount_began, m.ended AS mount_ended, m.came AS came,
        {{template "edges.sql"}} AS windows
    FROM of_pods AS m
    LEFT JOIN
    (
        SELECT uid_key, volume_uid, owner, groups
        FROM claims FINAL
        WHERE {{template "uses_of.sql"}}
{{- if given "volume"}}
          AND (cluster, uid) IN ({{template "claims_of_its_volumes.sql"}})
{{- end}}
{{- if found .}}
          AND cityHash64(cluster, uid) IN (SELECT claim_hash FROM found)
{{- end}}
    ) AS c ON c.uid_key = {{key "m.cluster, m.claim_uid"}}
),
-- Each mount in each part of the window. reached is until when earlier mounts of the same workload used the claim: pods
-- that use it at the same time count once.
pieces AS
(
    SELECT
        cluster, namespace, claim_name, claim_uid, volume_uid, workload_kind, workload_name, owner, groups, pod_uid, began, ended,
        -- A pod counts in the first part, and later in the part in which it is new.
        part = 1 OR came >= windows[part].1 AS counts,
        came >= windows[part].1 AND came < windows[part].2 AS is_new,
        max(ended) OVER (PARTITION BY {{key "cluster, claim_uid, volume_uid, workload_kind, workload_name, owner, groups"}} ORDER BY began, ended ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
    FROM
    (
        SELECT *, part, greatest(mount_began, windows[part].1) AS began, least(mount_ended, windows[part].2) AS ended
        FROM of_workloads
        ARRAY JOIN arrayEnumerate(windows) AS part
        -- A use of less than a second counts as well: kubelets date it with the same second.
        WHERE began < ended OR mount_began >= mount_ended AND mount_began >= windows[part].1 AND mount_began < windows[part].2
    )
)
