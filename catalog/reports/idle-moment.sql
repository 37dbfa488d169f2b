-- The volumes that nobody used at a moment: idle.sql for the past. A volume counts if it was bound or released then:
-- bindings has its claims, changes has its earlier phases and sizes, unused_conditions has what its claims said of their
-- use, and volumes, claims and volume_states have the values that did not change since. The claim is the one that the volume had then, or had last. Owner, groups, class
-- and reclaim policy are the latest known ones.
-- A use that ended while nobody watched counts until the latest moment at which it can have ended. A volume is not idle
-- while a pod waits for it: a pod that existed and started later, or whose init container had run. A pod that never
-- started has no mounts, so the report does not know that it waited.
WITH
{{template "idle_watched.sql"}},
{{- if not (found .)}}
{{template "idle_candidates.sql" .}},
(
    SELECT groupArray((key, claim_key, status, idle_micros, seconds, unused_micros, used_micros, is_mount)) FROM
    (
        {{template "idle_rows.sql"}}
    )
) AS rows_found,
found AS
(
    SELECT r.1 AS key, r.2 AS claim_key, r.3 AS status, r.4 AS idle_micros, r.5 AS seconds, r.6 AS unused_micros, r.7 AS used_micros, r.8 AS is_mount
    FROM (SELECT arrayJoin(rows_found) AS r)
),
{{- end}}
(
    SELECT groupArray((uid_key, cluster, uid, name, storage_class, reclaim_policy, capacity_bytes, claim_namespace, claim_name, claim))
    FROM
    (
        SELECT uid_key, toString(cluster) AS cluster, uid, name, storage_class, reclaim_policy, capacity_bytes, toString(claim_namespace) AS claim_namespace, claim_name,
            if(claim_key = {{key "cluster, ''"}}, 0, claim_key) AS claim -- 0 without one
        FROM volumes FINAL PREWHERE uid_key IN (SELECT key FROM found)
    )
) AS volumes_found,
-- All claims that these volumes have or had.
(
    SELECT groupUniqArray((cluster, namespace, name, volume, claim))
    FROM
    (
        SELECT cluster, namespace, claim_name AS name, volume_key AS volume, claim_key AS claim FROM bindings
        WHERE volume_key IN (SELECT key FROM found){{if given "volume_namespaces"}} AND {{inNamespaces "volume_namespaces" ""}}{{end}}
        UNION ALL
        SELECT cluster, namespace, name, volume_key, uid_key FROM claims
        WHERE volume_key IN (SELECT key FROM found){{if given "volume_namespaces"}} AND {{inNamespaces "volume_namespaces" ""}}{{end}}
        UNION ALL
        SELECT v.2, v.8, v.9, v.1, v.10 FROM (SELECT arrayJoin(volumes_found) AS v) WHERE v.10 != 0
    )
) AS claims_found,
used_claims AS
(
    SELECT its.1 AS cluster, its.2 AS namespace, its.3 AS name FROM (SELECT arrayJoin(claims_found) AS its) WHERE its.4 IN (SELECT key FROM found WHERE is_mount)
),
-- The pods that used these volumes last. Of several uses that ended at the same time, the one that started last counts.
(
    SELECT groupArray((its_volume, pod.1, pod.2, pod.3, pod.4))
    FROM
    (
        SELECT its_volume, argMax((cluster, namespace, pod_created_at, pod_uid), (ended_at, started_at, pod_uid)) AS pod
        FROM
        (
            SELECT m.cluster AS cluster, m.namespace AS namespace, m.pod_created_at AS pod_created_at, m.pod_uid AS pod_uid, m.started_at AS started_at, m.ended_at AS ended_at,
                if(m.volume_uid != '', {{key "m.cluster, m.volume_uid"}}, c.volume_key) AS its_volume
            FROM
            (
                SELECT cluster, namespace, {{key "cluster, claim_uid"}} AS claim_key, volume_uid, pod_created_at, pod_uid, started_at, assumeNotNull(ended_at) AS ended_at
                FROM mounts FINAL
                -- When the pods were created whose uses ended at one of these times: one number of the sorting key.
                PREWHERE pod_created_at IN
                         (
                             SELECT pod_created_at FROM mounts
                             WHERE (cluster, namespace, claim_name) IN (SELECT cluster, namespace, name FROM used_claims)
                               AND mounts.ended_at IN (SELECT fromUnixTimestamp64Micro(used_micros, 'UTC') FROM found WHERE is_mount)
                         )
                WHERE (cluster, namespace, claim_name) IN (SELECT cluster, namespace, name FROM used_claims)
                  AND pod_created_at <= moment AND started_at <= moment AND mounts.ended_at <= moment
            ) AS m
            LEFT JOIN
            (
                SELECT uid_key, volume_key FROM claims FINAL
                WHERE (cluster, namespace) IN (SELECT cluster, namespace FROM used_claims) AND volume_key IN (SELECT key FROM found WHERE is_mount)
            ) AS c ON c.uid_key = m.claim_key
        )
        GROUP BY its_volume
    )
) AS last_users,
idle AS
(
    SELECT
        v.cluster AS cluster, v.uid AS volume_uid, v.name AS volume, f.status AS state,
        if(f.idle_micros = 0, NULL, fromUnixTimestamp64Micro(f.idle_micros, 'UTC')) AS idle_since,
        f.seconds AS idle_seconds,
        toString(c.namespace) AS namespace,
        c.name AS claim,
        if(f.unused_micros = 0, NULL, fromUnixTimestamp64Micro(f.unused_micros, 'UTC')) AS unused_since,
        v.storage_class AS storage_class,
        toInt64(v.capacity_bytes - g.grown_bytes) AS capacity_bytes,
        m.used_bytes AS used_bytes,
        v.reclaim_policy AS reclaim_policy,
        if(f.used_micros = 0, NULL, fromUnixTimestamp64Micro(f.used_micros, 'UTC')) AS last_used_at,
        toString(if(f.is_mount, l.user.3, u.last_namespace)) AS last_namespace,
        if(f.is_mount, p.name, u.last_pod) AS last_pod,
        trim(BOTH '/' FROM if(NOT f.is_mount, concat(u.last_workload_kind, '/', u.last_workload_name), concat(p.workload_kind, '/', p.workload_name))) AS last_workload,
        -- The catalog has only the present annotations.
        CAST(NULL AS Nullable(DateTime64(6, 'UTC'))) AS keep_until,
        '' AS keep_reason
    FROM found AS f
    INNER JOIN
    (
        SELECT v.1 AS uid_key, v.2 AS cluster, v.3 AS uid, v.4 AS name, v.5 AS storage_class, v.6 AS reclaim_policy, v.7 AS capacity_bytes
        FROM (SELECT arrayJoin(volumes_found) AS v)
    ) AS v ON v.uid_key = f.key
    LEFT ANY JOIN (SELECT its.2 AS namespace, its.3 AS name, its.4 AS volume, its.5 AS claim FROM (SELECT arrayJoin(claims_found) AS its)) AS c ON c.volume = f.key AND c.claim = f.claim_key
    LEFT JOIN
    (
        SELECT volume_key, last_namespace, last_pod, last_workload_kind, last_workload_name
        FROM volume_uses FINAL PREWHERE volume_key IN (SELECT key FROM found) WHERE last_ended_at <= moment
    ) AS u ON u.volume_key = f.key
    LEFT JOIN (SELECT arrayJoin(last_users) AS user) AS l ON l.user.1 = f.key
    LEFT JOIN
    (
        SELECT cluster, uid, name, workload_kind, workload_name
        FROM pods FINAL
        WHERE (cluster, namespace, created_at, uid) IN (SELECT u.2, u.3, u.4, u.5 FROM (SELECT arrayJoin(last_users) AS u))
    ) AS p ON p.cluster = l.user.2 AND p.uid = l.user.5
    LEFT JOIN
    (
        SELECT key, sum(bytes) AS grown_bytes
        FROM
        (
            -- Two trackers can have dated the same change differently.
            SELECT
                {{key "cluster, uid"}} AS key, min(at) AS resized_at,
                {{template "change_of_size.sql"}}
            FROM changes FINAL
            PREWHERE action = 'resized'
            WHERE kind = 'PersistentVolume' AND namespace = ''{{filter "cluster"}}
              AND {{key "cluster, uid"}} IN (SELECT key FROM found)
            GROUP BY key, details, resource_version
            HAVING resized_at > moment
        )
        GROUP BY key
    ) AS g ON g.key = f.key
    LEFT JOIN
    (
        SELECT volume_key, toNullable(argMax(used_bytes, at)) AS used_bytes
        FROM
        (
            SELECT {{key "cluster, volume_uid"}} AS volume_key, at, used_bytes FROM usage
            WHERE at <= moment AND (cluster, namespace) IN (SELECT its.1, its.2 FROM (SELECT arrayJoin(claims_found) AS its)) AND {{key "cluster, volume_uid"}} IN (SELECT key FROM found)
            UNION ALL
            -- without FINAL: a replaced row is an earlier sample
            SELECT volume_key, at, used_bytes FROM last_usage
            PREWHERE volume_key IN (SELECT key FROM found) WHERE at <= moment
        )
        GROUP BY volume_key
    ) AS m ON m.volume_key = f.key
),
{{template "idle_observed.sql"}}
