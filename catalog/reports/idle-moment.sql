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
volumes_found AS
(
    {{template "idle_volumes.sql"}}
),
{{template "idle_last_uses.sql"}},
users_found AS
(
    {{template "idle_users.sql"}}
),
{{- end}}
idle AS
(
    SELECT
        v.cluster AS cluster, v.uid AS volume_uid, v.name AS volume, f.status AS state,
        if(f.idle_micros = 0, NULL, fromUnixTimestamp64Micro(f.idle_micros, 'UTC')) AS idle_since,
        f.seconds AS idle_seconds,
        u.namespace AS namespace,
        u.claim AS claim,
        if(f.unused_micros = 0, NULL, fromUnixTimestamp64Micro(f.unused_micros, 'UTC')) AS unused_since,
        v.storage_class AS storage_class,
        v.capacity_bytes AS capacity_bytes,
        v.used_bytes AS used_bytes,
        v.reclaim_policy AS reclaim_policy,
        if(f.used_micros = 0, NULL, fromUnixTimestamp64Micro(f.used_micros, 'UTC')) AS last_used_at,
        if(f.is_mount, u.last_namespace, v.last_namespace) AS last_namespace,
        if(f.is_mount, u.last_pod, v.last_pod) AS last_pod,
        trim(BOTH '/' FROM if(f.is_mount, u.last_workload, v.last_workload)) AS last_workload,
        -- The catalog has only the present annotations.
        CAST(NULL AS Nullable(DateTime64(6, 'UTC'))) AS keep_until,
        '' AS keep_reason
    FROM found AS f
    INNER JOIN volumes_found AS v ON v.key = f.key
    INNER JOIN users_found AS u ON u.key = f.key
),
{{template "idle_observed.sql"}}
