-- What the mounts of the namespaces from..to come to.
SELECT
    'east' AS cluster,
    u.volume_uid AS volume_uid,
    u.running > 0 AS in_use,
    if(in_use, NULL, tupleElement(u.last, 1)) AS last_ended_at,
    if(in_use, NULL, tupleElement(u.last, 4)) AS last_ended_not_before,
    if(in_use, '', tupleElement(u.last, 5)) AS last_namespace,
    if(in_use, '', tupleElement(u.last, 3)) AS last_pod_uid,
    if(in_use, '', p.name) AS last_pod,
    if(in_use, '', p.workload_kind) AS last_workload_kind,
    if(in_use, '', p.workload_name) AS last_workload_name,
    1 AS version
FROM (SELECT uid, name, workload_kind, workload_name FROM pods WHERE namespace >= {first:String} AND namespace < {after:String}) AS p
RIGHT JOIN
(
    SELECT
        volume_uid,
        countIf(ended_at IS NULL) AS running,
        maxIf((assumeNotNull(ended_at), started_at, pod_uid, assumeNotNull(ended_not_before), namespace), ended_at IS NOT NULL) AS last
    FROM mounts
    WHERE namespace >= {first:String} AND namespace < {after:String}
    GROUP BY volume_uid
) AS u ON p.uid = tupleElement(u.last, 3)
