-- Sums up the space of one day of a cluster for byte_seconds_daily. Rows of this day that are no longer right become
-- zero. A day without any space gets a row as well: a day with rows is done.
INSERT INTO byte_seconds_daily
WITH
toInt64(toUnixTimestamp(toDateTime({day:Date}, 'UTC'))) * 1000000 AS began_micros,
began_micros + 86400000000 AS ended_micros,
{{template "windows.sql" ""}}
{{template "space_parts.sql"}}
SELECT
    cluster,
    {day:Date} AS day,
    namespace,
    storage_class,
    owner,
    groups,
    toInt64(intDiv(sums[1], 1000000)) AS claim_seconds,
    toInt64(intDiv(sums[2] + sums[3], 1000000)) AS volume_seconds,
    intDiv(sums[4], 1000000) AS requested_byte_seconds,
    intDiv(sums[5], 1000000) AS capacity_byte_seconds,
    intDiv(sums[6], 1000000) AS idle_byte_seconds,
    intDiv(used, 1000000) AS used_byte_seconds,
    {version:UInt64} AS version
FROM
(
    SELECT cluster, namespace, storage_class, owner, groups, sumForEach(measures) AS sums, sum(used) AS used
    FROM
    (
        SELECT toString(cluster) AS cluster, toString(namespace) AS namespace, toString(storage_class) AS storage_class, toString(owner) AS owner, CAST(groups, 'Array(String)') AS groups,
            measures, used
        FROM parts
        UNION ALL
        SELECT toString(cluster), toString(namespace), toString(storage_class), toString(owner), CAST(groups, 'Array(String)'), arrayResize(CAST([], 'Array(Int128)'), 6), NULL
        FROM byte_seconds_daily AS c FINAL
        WHERE cluster = {cluster:String} AND day = {day:Date}
        UNION ALL
        SELECT {cluster:String}, '', '', '', [], arrayResize(CAST([], 'Array(Int128)'), 6), NULL
    )
    GROUP BY cluster, namespace, storage_class, owner, groups
)
