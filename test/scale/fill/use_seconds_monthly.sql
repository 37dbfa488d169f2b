-- The days of the namespaces from..to by month, as the tracker sums them up.
SELECT
    cluster, namespace, claim_name, claim_uid, volume_uid, workload_kind, workload_name, owner, groups,
    toStartOfMonth(day) AS month,
    min(day) AS first_day,
    max(day) AS last_day,
    sumIf(d.pods, day = month) + sumIf(d.new_pods, day != month) AS pods,
    sum(d.new_pods) AS new_pods,
    sum(d.use_seconds) AS use_seconds,
    1 AS version
FROM use_seconds_daily AS d
WHERE namespace >= {first:String} AND namespace < {after:String} AND toLastDayOfMonth(day) < toDate(toDateTime({began:Int64} + {span:Int64}, 'UTC'))
GROUP BY cluster, namespace, claim_name, claim_uid, volume_uid, workload_kind, workload_name, owner, groups, month
