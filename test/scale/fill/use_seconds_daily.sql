-- The uses of the namespaces from..to, summed up by day as the tracker does. Pods that run beside each other count once at most.
SELECT
    'east' AS cluster,
    m.namespace AS namespace,
    m.claim_name AS claim_name,
    m.claim_uid AS claim_uid,
    m.volume_uid AS volume_uid,
    m.workload_kind AS workload_kind,
    m.workload_name AS workload_name,
    m.owner AS owner,
    m.groups AS groups,
    m.day AS day,
    count() AS pods,
    countIf(m.is_new) AS new_pods,
    least(86400, sum(m.seconds)) AS use_seconds,
    1 AS version
FROM
(
    SELECT
        namespace, claim_name, claim_uid, volume_uid, workload_kind, workload_name, owner, groups,
        toDate(toDate(started_at) + arrayJoin(range(dateDiff('day', toDate(started_at), toDate(over)) + 1))) AS day,
        day = toDate(started_at) AS is_new,
        dateDiff('second', greatest(started_at, toDateTime64(day, 6, 'UTC')), least(over, toDateTime64(day + 1, 6, 'UTC'))) AS seconds
    FROM (SELECT *, coalesce(ended_at, fromUnixTimestamp64Micro(({began:Int64} + {span:Int64} - 1) * 1000000, 'UTC')) AS over FROM mounts WHERE namespace >= {first:String} AND namespace < {after:String})
) AS m
WHERE m.day < toDate(toDateTime({began:Int64} + {span:Int64}, 'UTC'))
GROUP BY namespace, claim_name, claim_uid, volume_uid, workload_kind, workload_name, owner, groups, day
