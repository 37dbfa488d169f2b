-- Included by idle.sql and idle-moment.sql, behind watched and idle: the rows of the report, with the part of the idle
-- time that was watched. For how long pods had been watched at two moments: when the volume became idle, and since when
-- the condition Unused vouches for that. There are many spans, so an ASOF JOIN finds the one of each moment.
measured AS
(
    SELECT
        i.*,
        if(w.started_micros = 0, 0, w.before_micros + least(i.vouched_micros, w.ended_micros) - w.started_micros) AS watched_until_vouched
    FROM
    (
        SELECT
            i.*,
            if(w.started_micros = 0, 0, w.before_micros + least(i.since_micros, w.ended_micros) - w.started_micros) AS watched_until_idle
        FROM
        (
            SELECT
                i.*,
                w.total_micros AS total_micros,
                least(w.last_micros, {now_micros:Int64}, toUnixTimestamp64Micro({until:DateTime64(6, 'UTC')})) AS end_micros,
                ifNull(toUnixTimestamp64Micro(i.idle_since), 0) AS since_micros,
                greatest(since_micros, ifNull(toUnixTimestamp64Micro(i.unused_since), end_micros)) AS vouched_micros
            FROM idle AS i
            LEFT JOIN
            (
                SELECT watched_cluster, max(last_ended_micros) AS last_micros, sum(ended_micros - started_micros) AS total_micros FROM watched GROUP BY watched_cluster
            ) AS w ON w.watched_cluster = i.cluster
        ) AS i
        ASOF LEFT JOIN watched AS w ON w.watched_cluster = i.cluster AND i.since_micros >= w.started_micros
    ) AS i
    ASOF LEFT JOIN watched AS w ON w.watched_cluster = i.cluster AND i.vouched_micros >= w.started_micros
)
SELECT
    cluster,
    volume,
    state,
    idle_since,
    idle_seconds,
    least(idle_seconds, toInt64(multiIf(
        since_micros = 0 OR since_micros >= end_micros, 0,
        vouched_micros >= end_micros, intDiv(total_micros - watched_until_idle, 1000000),
        intDiv(watched_until_vouched - watched_until_idle + end_micros - vouched_micros, 1000000)))) AS observed_seconds,
    namespace,
    claim,
    storage_class,
    capacity_bytes,
    used_bytes,
    reclaim_policy,
    last_used_at,
    last_namespace,
    last_pod,
    last_workload,
    keep_until,
    keep_reason
FROM measured
ORDER BY idle_seconds DESC, cluster, volume, volume_uid
LIMIT {limit:UInt64}
