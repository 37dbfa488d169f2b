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
    {{template "space_by.sql"}} AS "group",
    intDiv(sum(requested), 3600000000) AS requested_byte_hours,
    intDiv(sum(capacity), 3600000000) AS capacity_byte_hours,
    intDiv(sum(idle), 3600000000) AS idle_byte_hours,
    intDiv(sum(used), 3600000000) AS used_byte_hours
FROM
(
    SELECT cluster, namespace, owner, groups, storage_class, requested, capacity, idle, used FROM parts
    UNION ALL
    SELECT cluster, toString(namespace), owner, groups, storage_class, requested_byte_seconds * 1000000, capacity_byte_seconds * 1000000, idle_byte_seconds * 1000000, used_byte_seconds * 1000000
    FROM byte_seconds_daily AS c FINAL
    WHERE day BETWEEN first_day_of_rollup AND last_day_of_rollup{{filter "cluster"}}
      AND {{template "claim_filter.sql"}}{{filter "storage_class"}}
)
GROUP BY cluster, "group"
HAVING requested_byte_hours != 0 OR capacity_byte_hours != 0
ORDER BY capacity_byte_hours DESC, requested_byte_hours DESC, cluster, "group"
LIMIT {limit:UInt64}
