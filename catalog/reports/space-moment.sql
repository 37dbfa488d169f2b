-- Space at a moment by namespace, owner, group or storage class: the report space for the past, computed from the lives of claims and
-- volumes. Owner and groups are the latest ones of the claim.
WITH
toUnixTimestamp64Micro({until:DateTime64(6, 'UTC')}) AS began_micros,
began_micros + 1 AS ended_micros,
{{template "windows.sql" ""}}
{{template "space_parts.sql"}}
SELECT
    cluster,
    {{template "space_by.sql"}} AS "group",
    toInt64(sum(claim_micros)) AS claims,
    toInt64(sum(bound_micros)) AS bound_volumes,
    toInt64(sum(released_micros)) AS released_volumes,
    sum(requested) AS requested_bytes,
    sum(capacity) AS capacity_bytes,
    sum(idle) AS idle_bytes,
    sum(used) AS used_bytes
FROM parts
WHERE claim_micros != 0 OR bound_micros != 0 OR released_micros != 0 OR requested != 0 OR capacity != 0
GROUP BY cluster, "group"
ORDER BY capacity_bytes DESC, requested_bytes DESC, cluster, "group"
LIMIT {limit:UInt64}
