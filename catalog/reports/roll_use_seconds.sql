-- Sums up the uses of one day of a cluster for use_seconds_daily. Rows of this day that are no longer right become zero.
INSERT INTO use_seconds_daily
WITH
toInt64(toUnixTimestamp(toDateTime({day:Date}, 'UTC'))) * 1000000 AS began_micros,
began_micros + 86400000000 AS ended_micros,
{{template "windows.sql" ""}}
{{template "use_pieces.sql" .}}
SELECT
    cluster,
    namespace,
    claim_name,
    claim_uid,
    volume_uid,
    workload_kind,
    workload_name,
    owner,
    groups,
    {day:Date} AS day,
    toUInt32(uniqExactIf(pod_uid, pod_uid != '')) AS pods,
    toUInt32(uniqExactIf(pod_uid, is_new)) AS new_pods,
    intDiv(sum(used), 1000000) AS use_seconds,
    {version:UInt64} AS version
FROM
(
    SELECT
        toString(cluster) AS cluster, toString(namespace) AS namespace, claim_name, claim_uid, volume_uid, workload_kind, workload_name, owner, groups, pod_uid, is_new,
        greatest(0, ended - greatest(began, reached)) AS used
    FROM pieces
    UNION ALL
    SELECT toString(cluster), toString(namespace), claim_name, claim_uid, volume_uid, toString(workload_kind), toString(workload_name), toString(owner), CAST(groups, 'Array(String)'), '', 0, 0
    FROM use_seconds_daily FINAL
    WHERE cluster = {cluster:String} AND day = {day:Date}
)
GROUP BY cluster, namespace, claim_name, claim_uid, volume_uid, workload_kind, workload_name, owner, groups
