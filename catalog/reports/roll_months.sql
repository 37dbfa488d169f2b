-- Sums up the days of one month of a cluster for use_seconds_monthly.
INSERT INTO use_seconds_monthly
SELECT
    cluster, namespace, claim_name, claim_uid, volume_uid, workload_kind, workload_name, owner, groups,
    {month:Date} AS month,
    minIf(d.day, d.use_seconds + d.pods != 0) AS first_day,
    maxIf(d.day, d.use_seconds + d.pods != 0) AS last_day,
    toUInt32(sumIf(d.pods, d.day = {month:Date}) + sumIf(d.new_pods, d.day != {month:Date})) AS pods,
    toUInt32(sum(d.new_pods)) AS new_pods,
    sum(d.use_seconds) AS use_seconds,
    {version:UInt64} AS version
FROM use_seconds_daily AS d FINAL
WHERE cluster = {cluster:String} AND day BETWEEN {month:Date} AND toLastDayOfMonth({month:Date})
GROUP BY cluster, namespace, claim_name, claim_uid, volume_uid, workload_kind, workload_name, owner, groups
