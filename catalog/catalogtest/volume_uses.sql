-- What volume_uses must have, summed up from the whole history. A mount that was written before its volume was known is
-- found by its claim.
SELECT
    u.cluster AS cluster,
    u.used_uid AS volume_uid,
    u.running > 0 AS in_use,
    if(in_use, NULL, tupleElement(u.last, 1)) AS last_ended_at,
    if(in_use, NULL, tupleElement(u.last, 4)) AS last_ended_not_before,
    if(in_use, '', tupleElement(u.last, 5)) AS last_namespace,
    if(in_use, '', tupleElement(u.last, 3)) AS last_pod_uid,
    if(in_use, '', p.name) AS last_pod,
    if(in_use, '', p.workload_kind) AS last_workload_kind,
    if(in_use, '', p.workload_name) AS last_workload_name
-- The pods are many more than the volumes, so they pass by and are not kept.
FROM pods AS p
RIGHT JOIN
(
    SELECT
        m.cluster AS cluster,
        if(m.volume_uid != '', m.volume_uid, c.volume_uid) AS used_uid,
        countIf(m.ended_at IS NULL) AS running,
        maxIf((assumeNotNull(m.ended_at), m.started_at, m.pod_uid, assumeNotNull(m.ended_not_before), m.namespace), m.ended_at IS NOT NULL) AS last
    FROM mounts AS m
    LEFT JOIN (SELECT cluster, uid, volume_uid FROM claims WHERE volume_uid != '') AS c ON c.cluster = m.cluster AND c.uid = m.claim_uid
    WHERE used_uid != ''
    GROUP BY cluster, used_uid
) AS u ON p.cluster = u.cluster AND p.uid = tupleElement(u.last, 3)
