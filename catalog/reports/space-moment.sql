-- Space at a moment by namespace, owner, group or storage class: the report space for the past, computed from the lives of claims and
-- volumes. Owner and groups are the latest ones of the claim.
WITH
toUnixTimestamp64Micro({until:DateTime64(6, 'UTC')}) AS began_micros,
began_micros + 1 AS ended_micros,
{{template "windows.sql" ""}}
{{template "space_parts.sql"}}
SELECT
    cluster,
    by AS "group",
    toInt64(sums[1]) AS claims,
    toInt64(sums[2]) AS bound_volumes,
    toInt64(sums[3]) AS released_volumes,
    sums[4] AS requested_bytes,
    sums[5] AS capacity_bytes,
    sums[6] AS idle_bytes,
    used AS used_bytes
FROM
(
    SELECT cluster, {{template "space_by.sql"}} AS by, sumForEach(measures) AS sums, sum(used) AS used
    FROM parts
    WHERE arrayExists(measure -> measure != 0, measures)
    GROUP BY cluster, by
)
ORDER BY capacity_bytes DESC, requested_bytes DESC, cluster, "group"
LIMIT {limit:UInt64}
