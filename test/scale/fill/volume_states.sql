-- The states of the volumes of the namespaces from..to.
SELECT
    'east' AS cluster,
    v.uid AS volume_uid,
    v.name AS name,
    v.phase AS phase,
    multiIf(u.in_use, 'mounted', v.phase = 'Released', 'released', v.phase != 'Bound', 'available', u.last_ended_at IS NOT NULL, 'idle', 'never_mounted') AS status,
    if(status = 'mounted', NULL, v.phase_changed_at) AS status_since,
    if(status = 'mounted', NULL, coalesce(u.last_ended_at, v.phase_changed_at)) AS idle_since,
    CAST(NULL, 'Nullable(DateTime64(6, \'UTC\'))') AS unused_since,
    v.claim_uid AS claim_uid,
    v.claim_namespace AS claim_namespace,
    v.claim_name AS claim_name,
    concat('owner-', toString(toUInt64(substring(v.claim_namespace, 6)) % {owners:UInt64})) AS owner,
    [concat('group-', toString(toUInt64(substring(v.claim_namespace, 6)) % {groups:UInt64}))] AS groups,
    v.storage_class AS storage_class,
    v.reclaim_policy AS reclaim_policy,
    v.capacity_bytes AS capacity_bytes,
    1 AS version
FROM (SELECT * FROM volumes WHERE claim_namespace >= {first:String} AND claim_namespace < {after:String}) AS v
LEFT JOIN volume_uses AS u ON u.cluster = 'east' AND u.volume_uid = v.uid
