{{- /* Included by use-hours-found.sql: how long each use took in the parts of the window that the rollup does not
cover. It comes behind began_micros and ended_micros, the window, and windows.sql. It is use_pieces.sql without the pods, and
with hashes for the columns of a use: to sort names takes several times as long. */ -}}
{{template "use_created.sql" .}},
-- The uses, with their owner and groups: those of the pod, else those of its claim.
of_workloads AS
(
    SELECT cityHash64({{template "use_columns.sql"}}) AS use_hash, cityHash64(o.cluster, o.claim_uid) AS claim_hash, mount_began, mount_ended, windows
    FROM
    (
        SELECT
            m.cluster AS cluster, m.namespace AS namespace, m.claim_name AS claim_name, m.claim_uid AS claim_uid, if(m.volume_uid != '', m.volume_uid, c.volume_uid) AS volume_uid,
            m.workload_kind AS workload_kind, m.workload_name AS workload_name, if(m.owner != '', m.owner, c.owner) AS owner, if(notEmpty(m.groups), m.groups, c.groups) AS groups,
            m.mount_began AS mount_began, m.mount_ended AS mount_ended,
            {{template "edges.sql"}} AS windows
        FROM
        (
            SELECT
                cluster, namespace, claim_name, claim_uid, volume_uid, owner, groups, workload_kind, workload_name,
                toUnixTimestamp64Micro(started_at) AS mount_began, ifNull(toUnixTimestamp64Micro(ended_at), 9000000000000000) AS mount_ended
            FROM mounts FINAL
            PREWHERE pod_created_at IN (SELECT pod_created_at FROM created)
            WHERE claim_uid != '' AND {{template "use_mounts_of.sql" .}} AND ({{template "in_edge.sql" "before"}} OR {{template "in_edge.sql" "after"}})
              AND {{template "whose.sql"}}
        ) AS m
        LEFT ANY JOIN ({{template "use_claims.sql" .}}) AS c ON c.uid_key = {{key "m.cluster, m.claim_uid"}}
    ) AS o
    WHERE {{template "use_chosen.sql"}}
),
pieces AS
(
    SELECT
        use_hash, claim_hash, began, ended,
        max(ended) OVER (PARTITION BY use_hash ORDER BY began, ended ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
    FROM
    (
        SELECT use_hash, claim_hash, greatest(mount_began, part.1) AS began, least(mount_ended, part.2) AS ended
        FROM of_workloads
        ARRAY JOIN windows AS part
        -- A use of less than a second counts as well: kubelets date it with the same second.
        WHERE began < ended OR mount_began >= mount_ended AND mount_began >= part.1 AND mount_began < part.2
    )
)
