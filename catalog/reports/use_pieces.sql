{{- /* Included by use-hours.sql, use-hours-found.sql and the rollup use_seconds_daily. Before it come began_micros and ended_micros, the window, and windows.sql.
It is given the kind of window, nothing by the rollup, or "times" if only how long the uses took is asked for, and not which pods are new. */ -}}
{{if given "volume"}}its_volumes AS ({{template "named_volumes.sql"}}),{{end}}
{{template "its_namespaces.sql" ""}}
use_keys AS
(
    {{template "use_keys.sql" .}}
),
{{- if ne . "times"}}
-- The mounts of the pods that used something in the window, with all that these pods mounted of the same claim, as a pod counts as new
-- on the day of its first mount.
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
-- With whose they are. Owner and groups are those of the pod, else those of its claim.
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
-- Each mount in each part of the window, and until when others of its workload had used the claim by then: pods that run beside each
-- other count once.
pieces AS
(
    SELECT
        cluster, namespace, claim_name, claim_uid, volume_uid, workload_kind, workload_name, owner, groups, pod_uid, began, ended,
        -- A pod of the first part counts, and so does one that came later.
        part = 1 OR came >= windows[part].1 AS counts,
        came >= windows[part].1 AND came < windows[part].2 AS is_new,
        max(ended) OVER (PARTITION BY {{key "cluster, claim_uid, volume_uid, workload_kind, workload_name, owner, groups"}} ORDER BY began, ended ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
    FROM
    (
        SELECT *, part, greatest(mount_began, windows[part].1) AS began, least(mount_ended, windows[part].2) AS ended
        FROM of_workloads
        ARRAY JOIN arrayEnumerate(windows) AS part
        -- A use that takes less than the second by which kubelets count is one, too.
        WHERE began < ended OR mount_began >= mount_ended AND mount_began >= windows[part].1 AND mount_began < windows[part].2
    )
)
