-- What volume_states must have, put together from the whole history by rule 5.5 of collector/inventory. Pods that have not started
-- are not in the mounts, so that a volume that is pending is idle, never_mounted or released here.
WITH watched AS
(
    SELECT cluster AS watched_cluster, started_micros, ended_micros, goes_on
    FROM ({{watched.sql}})
)
SELECT
    v.cluster AS cluster,
    v.uid AS volume_uid,
    v.name AS name,
    v.phase AS phase,
    multiIf(
        v.deleted_at IS NOT NULL, 'deleted',
        u.in_use, 'mounted',
        v.phase = 'Released', 'released',
        v.phase = 'Failed', 'failed',
        v.phase != 'Bound', 'available',
        used_until IS NOT NULL OR unseen_until > had_since + INTERVAL 10 SECOND, 'idle',
        'never_mounted') AS status,
    multiIf(
        status IN ('mounted', 'deleted'), NULL,
        unseen_until > known_since, unseen_until,
        known_since) AS idle_since,
    if(v.deleted_at IS NULL AND c.deleted_at IS NULL, c.unused_since, NULL) AS unused_since,
    v.claim_uid AS claim_uid,
    v.claim_namespace AS claim_namespace,
    v.claim_name AS claim_name,
    c.owner AS owner,
    c.groups AS groups,
    v.storage_class AS storage_class,
    v.reclaim_policy AS reclaim_policy,
    v.capacity_bytes AS capacity_bytes,
    coalesce(b.bound_at, c.bound_at, v.created_at) AS had_since,
    if(ifNull(v.unseen_use_at > u.last_ended_at, u.last_ended_at IS NULL), v.unseen_use_at, u.last_ended_at) AS used_until,
    coalesce(used_until, had_since) AS known_since,
    -- The controllers that write the times work within seconds. The API cuts times to whole seconds.
    c.in_span AND (c.span_micros <= toUnixTimestamp64Micro(known_since) + 999999 OR c.unused_micros > c.span_micros + 10000000) AS was_watched,
    if(was_watched OR c.deleted_at IS NOT NULL AND c.unused_micros <= toUnixTimestamp64Micro(known_since) + 10000000, NULL, c.unused_since) AS unseen_until
FROM volumes AS v
LEFT JOIN
(
    SELECT c.*, w.started_micros AS span_micros, w.started_micros != 0 AND (c.unused_micros <= w.ended_micros OR w.goes_on) AS in_span
    FROM
    (
        SELECT cluster, uid, owner, groups, bound_at, deleted_at, unused_since, ifNull(toUnixTimestamp64Micro(unused_since), 0) AS unused_micros
        FROM claims
    ) AS c
    ASOF LEFT JOIN watched AS w ON w.watched_cluster = c.cluster AND c.unused_micros >= w.started_micros
) AS c ON c.cluster = v.cluster AND c.uid = v.claim_uid
LEFT JOIN
(
    -- A claim can be bound to one volume more than once: the last binding counts.
    SELECT cluster, claim_uid, volume_uid, argMax(tuple(bound_at), ordinal).1 AS bound_at FROM bindings GROUP BY cluster, claim_uid, volume_uid
) AS b ON b.cluster = v.cluster AND b.claim_uid = v.claim_uid AND b.volume_uid = v.uid
LEFT JOIN volume_uses AS u ON u.cluster = v.cluster AND u.volume_uid = v.uid
