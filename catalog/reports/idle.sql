-- Volumes that nobody uses. Idle since the latest moment at which the last use
-- can have ended, so that no volume is called idle for longer than is known; if
-- no use is known, since it was bound or made. The condition Unused of its claim tells
-- of a use that nobody watched, if it is dated in a gap of coverage: the volume is idle
-- since then (rule 5.5 of collector/inventory, as in the metric volume_idle_seconds).
-- How much of that time was watched is in observed_seconds: the spans of the table
-- coverage, and all since the condition Unused of the claim, while it has that.
WITH watched AS
(
    SELECT cluster AS watched_cluster, started_micros, ended_micros, goes_on, before_micros
    FROM
    (
{{template "watched.sql"}}
    )
),
idle AS
(
    SELECT
        v.cluster AS cluster,
        v.name AS volume,
        coalesce(b.bound_at, c.bound_at, v.created_at) AS had_since,
        multiIf(
            v.phase = 'Released', 'released',
            used_until IS NOT NULL OR unseen_until > had_since + INTERVAL 10 SECOND, 'idle',
            'never_mounted') AS state,
        if(ifNull(v.unseen_use_at > u.last_ended_at, u.last_ended_at IS NULL), v.unseen_use_at, u.last_ended_at) AS used_until,
        coalesce(used_until, had_since) AS known_since,
        -- The controllers that write the times work within seconds. The API cuts times to whole seconds.
        c.in_span AND (c.span_micros <= toUnixTimestamp64Micro(known_since) + 999999 OR c.unused_micros > c.span_micros + 10000000) AS was_watched,
        if(was_watched, NULL, c.unused_since) AS unseen_until,
        if(unseen_until > known_since, unseen_until, known_since) AS idle_since,
        u.last_ended_at AS last_used_at,
        u.last_namespace AS last_namespace,
        u.last_pod AS last_pod,
        trim(BOTH '/' FROM concat(u.last_workload_kind, '/', u.last_workload_name)) AS last_workload,
        v.claim_namespace AS namespace,
        v.claim_name AS claim,
        c.vouched_since AS vouched_since,
        v.storage_class AS storage_class,
        v.capacity_bytes AS capacity_bytes,
        s.used_bytes AS used_bytes,
        v.reclaim_policy AS reclaim_policy
    FROM
    (
        SELECT cluster, uid, name, phase, unseen_use_at, claim_uid, claim_namespace, claim_name, created_at, storage_class, capacity_bytes, reclaim_policy
        FROM volumes
        WHERE deleted_at IS NULL
          AND phase IN ('Bound', 'Released')
          AND ({cluster:String} = '' OR cluster = {cluster:String})
          AND ({namespace:String} = '' OR claim_namespace = {namespace:String})
          AND ({storageclass:String} = '' OR storage_class = {storageclass:String})
    ) AS v
    LEFT JOIN
    (
        SELECT
            c.cluster AS cluster, c.uid AS uid, c.bound_at AS bound_at,
            if(c.deleted_at IS NULL, c.unused_since, NULL) AS vouched_since,
            c.unused_since AS unused_since, c.unused_micros AS unused_micros, w.started_micros AS span_micros,
            w.started_micros != 0 AND (c.unused_micros <= w.ended_micros OR w.goes_on) AS in_span
        FROM
        (
            SELECT cluster, uid, bound_at, deleted_at, unused_since, ifNull(toUnixTimestamp64Micro(unused_since), 0) AS unused_micros
            FROM claims
            -- Of the others it is known when their volume was last used.
            WHERE ({namespace:String} = '' OR namespace = {namespace:String})
              AND (unused_since IS NOT NULL OR (cluster, volume_uid) NOT IN (SELECT cluster, volume_uid FROM volume_uses))
        ) AS c
        ASOF LEFT JOIN watched AS w ON w.watched_cluster = c.cluster AND c.unused_micros >= w.started_micros
    ) AS c ON c.cluster = v.cluster AND c.uid = v.claim_uid
    LEFT JOIN
    (
        -- A claim can be bound to one volume more than once: the last binding counts.
        SELECT cluster, claim_uid, volume_uid, argMax(tuple(bound_at), ordinal).1 AS bound_at
        FROM bindings
        WHERE (cluster, volume_uid) NOT IN (SELECT cluster, volume_uid FROM volume_uses)
           OR (cluster, claim_uid) IN (SELECT cluster, uid FROM claims WHERE unused_since IS NOT NULL)
        GROUP BY cluster, claim_uid, volume_uid
    ) AS b ON b.cluster = v.cluster AND b.claim_uid = v.claim_uid AND b.volume_uid = v.uid
    LEFT JOIN (SELECT * FROM volume_uses WHERE ({namespace:String} = '' OR (cluster, volume_uid) IN (SELECT cluster, uid FROM volumes WHERE claim_namespace = {namespace:String}))) AS u
        ON u.cluster = v.cluster AND u.volume_uid = v.uid
    LEFT JOIN (SELECT cluster, volume_uid, toNullable(used_bytes) AS used_bytes FROM last_usage WHERE ({namespace:String} = '' OR (cluster, volume_uid) IN (SELECT cluster, uid FROM volumes WHERE claim_namespace = {namespace:String}))) AS s
        ON s.cluster = v.cluster AND s.volume_uid = v.uid
    WHERE NOT u.in_use
),
-- For how long pods were watched until two moments: since when the volume is idle, and
-- since when that is vouched for. The spans are many, so each is found by its time.
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
                least(w.last_micros, {now_micros:Int64}) AS end_micros,
                ifNull(toUnixTimestamp64Micro(i.idle_since), 0) AS since_micros,
                greatest(since_micros, ifNull(toUnixTimestamp64Micro(i.vouched_since), end_micros)) AS vouched_micros
            FROM idle AS i
            LEFT JOIN
            (
                SELECT watched_cluster, max(ended_micros) AS last_micros, sum(ended_micros - started_micros) AS total_micros FROM watched GROUP BY watched_cluster
            ) AS w ON w.watched_cluster = i.cluster
        ) AS i
        ASOF LEFT JOIN watched AS w ON w.watched_cluster = i.cluster AND i.since_micros >= w.started_micros
    ) AS i
    ASOF LEFT JOIN watched AS w ON w.watched_cluster = i.cluster AND i.vouched_micros >= w.started_micros
)
SELECT
    i.cluster AS cluster,
    i.volume AS volume,
    i.state AS state,
    i.idle_since AS idle_since,
    ifNull(greatest(0, intDiv({now_micros:Int64} - toUnixTimestamp64Micro(i.idle_since), 1000000)), 0) AS idle_seconds,
    least(idle_seconds, toInt64(multiIf(
        i.since_micros = 0 OR i.since_micros >= i.end_micros, 0,
        i.vouched_micros >= i.end_micros, intDiv(i.total_micros - i.watched_until_idle, 1000000),
        intDiv(i.watched_until_vouched - i.watched_until_idle + i.end_micros - i.vouched_micros, 1000000)))) AS observed_seconds,
    i.namespace AS namespace,
    i.claim AS claim,
    i.storage_class AS storage_class,
    i.capacity_bytes AS capacity_bytes,
    i.used_bytes AS used_bytes,
    i.reclaim_policy AS reclaim_policy,
    i.last_used_at AS last_used_at,
    i.last_namespace AS last_namespace,
    i.last_pod AS last_pod,
    i.last_workload AS last_workload
FROM measured AS i
WHERE idle_seconds >= {min_idle:Int64}
ORDER BY idle_seconds DESC, cluster, volume
LIMIT {limit:UInt64}
