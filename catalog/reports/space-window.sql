-- Space over a window by namespace, owner, group or storage class, in byte-hours: a byte for an hour. Whole days come from the rollup
-- byte_seconds_daily if it has them. It keeps them when the mounts and samples of those days have expired. A day of the rollup
-- counts for the owner and the groups that a claim had some three days later, the rest of the window for its latest ones.
WITH
toUnixTimestamp64Micro({since:DateTime64(6, 'UTC')}) AS began_micros,
least(toUnixTimestamp64Micro({until:DateTime64(6, 'UTC')}), {now_micros:Int64}) AS ended_micros,
{{template "windows.sql" "rolled"}}
{{template "space_parts.sql"}}
SELECT
    cluster,
    by AS "group",
    intDiv(sums[4], 3600000000) AS requested_byte_hours,
    intDiv(sums[5], 3600000000) AS capacity_byte_hours,
    intDiv(sums[6], 3600000000) AS idle_byte_hours,
    intDiv(used, 3600000000) AS used_byte_hours
FROM
(
    SELECT cluster, {{template "space_by.sql"}} AS by, sumForEach(measures) AS sums, sum(used) AS used
    FROM
    (
        SELECT * FROM parts
        UNION ALL
        SELECT
            cluster, toString(namespace), owner, groups, storage_class,
            arrayMap(seconds -> toInt128(seconds) * 1000000, [0, 0, 0, requested_byte_seconds, capacity_byte_seconds, idle_byte_seconds]), used_byte_seconds * 1000000
        FROM byte_seconds_daily AS c FINAL
        WHERE day BETWEEN first_day_of_rollup AND last_day_of_rollup{{filter "cluster"}}
          AND {{template "claim_filter.sql"}}{{filter "storage_class"}}
    )
    GROUP BY cluster, by
)
WHERE requested_byte_hours != 0 OR capacity_byte_hours != 0
ORDER BY capacity_byte_hours DESC, requested_byte_hours DESC, cluster, "group"
LIMIT {limit:UInt64}
