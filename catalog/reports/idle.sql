{{- /* By rules 4.2 and 5.5 of collector/inventory. */ -}}
-- The volumes that nobody uses and no pod waits for, as in the metric volume_idle_seconds.
-- A volume is idle since the latest moment at which its last use can have ended, so it never seems idle for longer than is known; without
-- a known use, since it was bound or created. observed_seconds is the part of that time that was watched: the spans of the table
-- coverage, and the time since the condition Unused of the claim, while the claim has it.
-- With --at, the report is idle-moment.sql.
WITH watched AS
(
{{template "watched_spans.sql"}}
),
-- The rows of the report, before anything is joined with them.
chosen AS
(
    SELECT
        cluster, volume_uid, volume_key, name, status, idle_since, claim_namespace, claim_name, unused_since, storage_class, capacity_bytes, reclaim_policy,
        keep_until, concat(keep_reason, if(keep_unreadable = '', '', concat(if(keep_reason = '', '', '; '), 'unreadable: ', keep_unreadable))) AS kept_for,
        ifNull(greatest(0, intDiv({now_micros:Int64} - toUnixTimestamp64Micro(idle_since), 1000000)), 0) AS idle_seconds
    FROM volume_states FINAL
    WHERE status IN ('idle', 'never_mounted', 'released')
      AND idle_seconds >= {min_idle:Int64}{{filter "cluster" "claim_namespace" "storage_class" "owner" "groups"}}
    ORDER BY idle_seconds DESC, cluster, name, volume_uid
    LIMIT {limit:UInt64}
),
-- The right sides are the smaller ones: they are held in memory.
idle AS
(
    SELECT
        s.cluster AS cluster,
        s.volume_uid AS volume_uid,
        s.name AS volume,
        s.status AS state,
        s.idle_since AS idle_since,
        s.idle_seconds AS idle_seconds,
        s.claim_namespace AS namespace,
        s.claim_name AS claim,
        s.unused_since AS unused_since,
        s.storage_class AS storage_class,
        s.capacity_bytes AS capacity_bytes,
        l.used_bytes AS used_bytes,
        s.reclaim_policy AS reclaim_policy,
        s.last_ended_at AS last_used_at,
        s.last_namespace AS last_namespace,
        s.last_pod AS last_pod,
        trim(BOTH '/' FROM concat(s.last_workload_kind, '/', s.last_workload_name)) AS last_workload,
        s.keep_until AS keep_until,
        s.kept_for AS keep_reason
    FROM (SELECT volume_key, toNullable(used_bytes) AS used_bytes FROM last_usage FINAL) AS l
    RIGHT JOIN
    (
        SELECT s.*, u.last_ended_at AS last_ended_at, u.last_namespace AS last_namespace, u.last_pod AS last_pod,
            u.last_workload_kind AS last_workload_kind, u.last_workload_name AS last_workload_name
        FROM (SELECT volume_key, last_ended_at, last_namespace, last_pod, last_workload_kind, last_workload_name FROM volume_uses FINAL) AS u
        RIGHT JOIN chosen AS s ON s.volume_key = u.volume_key
    ) AS s ON s.volume_key = l.volume_key
),
{{template "idle_observed.sql"}}
