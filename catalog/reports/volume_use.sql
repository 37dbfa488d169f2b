-- Included by other reports: per volume, how many mounts use it now, when the
-- last of the others ended and whose it was. A mount that was written before its
-- volume was known is found by its claim: a volume in use must never seem idle.
-- Mounts are many, so they are summed up before they meet the claims.
SELECT
    m.cluster AS cluster,
    if(m.volume_uid != '', m.volume_uid, c.volume_uid) AS used_uid,
    sum(m.running) AS running,
    max(m.last_ended_at) AS last_ended_at,
    tupleElement(max(m.last), 4) AS last_namespace,
    tupleElement(max(m.last), 3) AS last_pod_uid
FROM
(
    SELECT
        cluster,
        claim_uid,
        volume_uid,
        countIf(ended_at IS NULL) AS running,
        max(ended_at) AS last_ended_at,
        maxIf((assumeNotNull(ended_at), started_at, pod_uid, namespace), ended_at IS NOT NULL) AS last
    FROM mounts
    WHERE claim_uid != '' OR volume_uid != ''
    GROUP BY cluster, claim_uid, volume_uid
) AS m
LEFT JOIN (SELECT cluster, uid, volume_uid FROM claims WHERE volume_uid != '') AS c ON c.cluster = m.cluster AND c.uid = m.claim_uid
GROUP BY cluster, used_uid
