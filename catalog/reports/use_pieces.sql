{{- /* Included by use-hours.sql and the rollup use_seconds_daily. It comes behind began_micros and ended_micros, the
window, and windows.sql. Its argument is the kind of window. */ -}}
{{template "use_created.sql" .}},
-- The mounts of the pods that used a claim in the window, with all mounts of the same claim by these pods: a pod is new
-- on the day of the first of them. There may be pods that were created in the same second, and are left out later.
of_pods AS
(
    SELECT
        cluster, namespace, claim_name, claim_uid, volume_uid, owner, groups, workload_kind, workload_name, pod_created_at, pod_uid,
        toUnixTimestamp64Micro(started_at) AS began, ifNull(toUnixTimestamp64Micro(ended_at), 9000000000000000) AS ended,
        min(began) OVER (PARTITION BY {{key "cluster, pod_uid, claim_uid"}}) AS came
    FROM mounts FINAL
    PREWHERE pod_created_at IN (SELECT pod_created_at FROM created)
    WHERE claim_uid != '' AND {{template "use_mounts_of.sql" .}}
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
    LEFT ANY JOIN
    (
        {{template "use_claims.sql" .}}
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
