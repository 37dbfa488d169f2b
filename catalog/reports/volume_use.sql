-- Included by other reports: per volume, how many mounts use it now, when the
-- last of the others ended and whose it was. A mount that was written before its
-- volume was known is found by its claim: a volume in use must never seem idle.
SELECT
    m.cluster AS cluster,
    if(m.volume_uid != '', m.volume_uid, c.volume_uid) AS used_uid,
    countIf(m.ended_at IS NULL) AS running,
    max(m.ended_at) AS last_ended_at,
    argMaxIf(m.namespace, (assumeNotNull(m.ended_at), m.started_at, m.pod_uid), m.ended_at IS NOT NULL) AS last_namespace,
    argMaxIf(m.pod_uid, (assumeNotNull(m.ended_at), m.started_at, m.pod_uid), m.ended_at IS NOT NULL) AS last_pod_uid
FROM (SELECT cluster, namespace, pod_uid, claim_uid, volume_uid, started_at, ended_at FROM mounts WHERE claim_uid != '' OR volume_uid != '') AS m
LEFT JOIN (SELECT cluster, uid, volume_uid FROM claims WHERE volume_uid != '') AS c ON c.cluster = m.cluster AND c.uid = m.claim_uid
GROUP BY cluster, used_uid
