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
    toInt64(intDiv(sum(claim_micros), 1000000)) AS claim_seconds,
    toInt64(intDiv(sum(bound_micros) + sum(released_micros), 1000000)) AS volume_seconds,
    intDiv(sum(requested), 1000000) AS requested_byte_seconds,
    intDiv(sum(capacity), 1000000) AS capacity_byte_seconds,
    intDiv(sum(idle), 1000000) AS idle_byte_seconds,
    intDiv(sum(used), 1000000) AS used_byte_seconds,
    {version:UInt64} AS version
FROM
(
    SELECT toString(cluster) AS cluster, toString(namespace) AS namespace, toString(storage_class) AS storage_class, toString(owner) AS owner, CAST(groups, 'Array(String)') AS groups,
        claim_micros, bound_micros, released_micros, requested, capacity, idle, used
    FROM parts
    UNION ALL
    SELECT toString(cluster), toString(namespace), toString(storage_class), toString(owner), CAST(groups, 'Array(String)'), 0, 0, 0, 0, 0, 0, NULL
    FROM byte_seconds_daily AS c FINAL
    WHERE cluster = {cluster:String} AND day = {day:Date}
    UNION ALL
    SELECT {cluster:String}, '', '', '', [], 0, 0, 0, 0, 0, 0, NULL
)
GROUP BY cluster, namespace, storage_class, owner, groups
