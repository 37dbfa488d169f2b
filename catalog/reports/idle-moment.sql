-- The volumes that nobody used at a moment: idle.sql for the past. A volume counts if it was bound or released then:
-- bindings has its claims, changes has its earlier phases and sizes, and volumes, claims and volume_states have the
-- values that did not change since. The claim is the one that the volume had then, or had last. Owner, groups, class
-- and reclaim policy are the latest known ones.
-- A use that ended while nobody watched counts until the latest moment at which it can have ended. A volume is not idle
-- while a pod waits for it: a pod that existed and started later, or whose init container had run. A pod that never
-- started has no mounts, so the report does not know that it waited.
WITH
{{template "idle_watched.sql"}},
{{- if not (found .)}}
{{template "idle_candidates.sql" .}},
(
    SELECT groupArray((cluster, uid, claim_key, status, idle_micros, seconds, unused_micros, used_micros, is_mount)) FROM
    (
        {{template "idle_rows.sql"}}
    )
) AS rows_found,
found AS
(
    SELECT
        r.1 AS cluster, r.2 AS uid, r.3 AS claim_key, r.4 AS status, r.5 AS idle_micros, r.6 AS seconds, r.7 AS unused_micros, r.8 AS used_micros, r.9 AS is_mount
    FROM (SELECT arrayJoin(rows_found) AS r)
),
{{- end}}
(SELECT groupArray({{key "cluster, uid"}}) FROM found) AS volumes_found,
-- All claims that these volumes ever had.
(
    SELECT groupArray((cluster, namespace, uid, name, volume_uid))
    FROM claims FINAL
    PREWHERE uid_key IN
             (
                 SELECT claim_key FROM bindings WHERE volume_key IN (SELECT {{key "cluster, uid"}} FROM found WHERE is_mount)
                 UNION ALL
                 SELECT uid_key FROM claims WHERE volume_key IN (SELECT {{key "cluster, uid"}} FROM found WHERE is_mount)
             )
) AS found_claims,
-- The pods that used these volumes last. Of several uses that ended at the same time, the one that started last counts.
(
    SELECT groupArray((cluster, its_volume, pod.1, pod.2, pod.3))
    FROM
    (
        SELECT cluster, its_volume, argMax((namespace, pod_created_at, pod_uid), (ended_at, started_at, pod_uid)) AS pod
        FROM
        (
            SELECT m.cluster AS cluster, m.namespace AS namespace, m.pod_created_at AS pod_created_at, m.pod_uid AS pod_uid, m.started_at AS started_at, m.ended_at AS ended_at,
                if(m.volume_uid != '', m.volume_uid, c.volume_uid) AS its_volume
            FROM
            (
                SELECT cluster, namespace, claim_uid, volume_uid, pod_created_at, pod_uid, started_at, assumeNotNull(ended_at) AS ended_at
                FROM mounts FINAL
                WHERE (cluster, namespace, claim_name) IN (SELECT c.1, c.2, c.4 FROM (SELECT arrayJoin(found_claims) AS c))
                  AND pod_created_at <= moment AND started_at <= moment AND mounts.ended_at <= moment
            ) AS m
            LEFT JOIN (SELECT c.1 AS cluster, c.3 AS uid, c.5 AS volume_uid FROM (SELECT arrayJoin(found_claims) AS c)) AS c ON c.cluster = m.cluster AND c.uid = m.claim_uid
        )
        GROUP BY cluster, its_volume
    )
) AS last_users,
idle AS
(
    SELECT
        f.cluster AS cluster, f.uid AS volume_uid, v.name AS volume, f.status AS state,
        if(f.idle_micros = 0, NULL, fromUnixTimestamp64Micro(f.idle_micros, 'UTC')) AS idle_since,
        f.seconds AS idle_seconds,
        if(c.uid != '', toString(c.namespace), if(f.claim_key = v.present_claim, toString(v.claim_namespace), '')) AS namespace,
        if(c.uid != '', c.name, if(f.claim_key = v.present_claim, v.claim_name, '')) AS claim,
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
        SELECT uid_key, name, storage_class, reclaim_policy, capacity_bytes, claim_key AS present_claim, claim_namespace, claim_name
        FROM volumes FINAL PREWHERE {{listed "uid_key" "volumes_found"}}
    ) AS v ON v.uid_key = {{key "f.cluster, f.uid"}}
    LEFT JOIN
    (
        SELECT uid_key, uid, namespace, name
        FROM claims FINAL PREWHERE uid_key IN (SELECT claim_key FROM found)
    ) AS c ON c.uid_key = f.claim_key
    LEFT JOIN
    (
        SELECT volume_key, last_namespace, last_pod, last_workload_kind, last_workload_name
        FROM volume_uses FINAL PREWHERE {{listed "volume_key" "volumes_found"}} WHERE last_ended_at <= moment
    ) AS u ON u.volume_key = {{key "f.cluster, f.uid"}}
    LEFT JOIN (SELECT arrayJoin(last_users) AS user) AS l ON l.user.1 = f.cluster AND l.user.2 = f.uid
    LEFT JOIN
    (
        SELECT cluster, uid, name, workload_kind, workload_name
        FROM pods FINAL
        WHERE (cluster, namespace, created_at, uid) IN (SELECT u.1, u.3, u.4, u.5 FROM (SELECT arrayJoin(last_users) AS u))
    ) AS p ON p.cluster = l.user.1 AND p.uid = l.user.5
    LEFT JOIN
    (
        SELECT cluster, uid, sum(bytes) AS grown_bytes
        FROM
        (
            -- Two trackers can have dated the same change differently.
            SELECT
                cluster, uid, details, min(at) AS resized_at,
                -- Sizes are quantities as the tracker writes them; any other text counts as no change.
                arrayMap(
                    text -> if(match(text, '^[0-9]{1,19}([KMGTPE]i)?$'),
                        toInt128(extract(text, '^[0-9]+')) * transform(extract(text, '[A-Z]i$'), ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'],
                            [1, 1024, 1048576, 1073741824, 1099511627776, 1125899906842624, 1152921504606846976], 0), toInt128(-1)),
                    splitByString(' → ', details)) AS sizes,
                if(length(sizes) = 2 AND sizes[1] >= 0 AND sizes[2] >= 0, sizes[2] - sizes[1], toInt128(0)) AS bytes
            FROM changes FINAL
            PREWHERE action = 'resized'
            WHERE kind = 'PersistentVolume' AND namespace = ''{{filter "cluster"}}
              AND (cluster, uid) IN (SELECT cluster, uid FROM found)
            GROUP BY cluster, uid, details, resource_version
            HAVING resized_at > moment
        )
        GROUP BY cluster, uid
    ) AS g ON g.cluster = f.cluster AND g.uid = f.uid
    LEFT JOIN
    (
        SELECT cluster, volume_uid, toNullable(argMax(used_bytes, at)) AS used_bytes
        FROM
        (
            SELECT cluster, volume_uid, at, used_bytes FROM usage
            WHERE at <= moment AND {{template "namespaces_of_volumes.sql" "volumes_found"}} AND {{listed (key "cluster, volume_uid") "volumes_found"}}
            UNION ALL
            SELECT cluster, volume_uid, at, used_bytes FROM last_usage FINAL
            PREWHERE {{listed "volume_key" "volumes_found"}} WHERE at <= moment
        )
        GROUP BY cluster, volume_uid
    ) AS m ON m.cluster = f.cluster AND m.volume_uid = f.uid
),
{{template "idle_observed.sql"}}
