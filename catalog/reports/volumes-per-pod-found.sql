-- Finds a lower bound for the last row that volumes-per-pod.sql shows: a pod whose spec has fewer volumes cannot be in
-- the table, so the report does not read its mounts. To find the bound, this counts the volumes of the pods with most
-- volumes by their specs. It takes so many of these that they have 200 mounts for each row of the table: a pod has a
-- mount per container, rows may be replaced, and a pod may mount fewer volumes than its spec has. If these are too few
-- pods, or there are fewer mounts, the bound is 0 and the report reads all pods.
WITH
(
    SELECT if(count() = 0, (65535, 65535, 0), any((claim_volumes, inline_volumes, (day + 1) * 86400000000 - 1))) -- no pod has more than 65535
    FROM
    (
        -- By days, because sorting the mounts takes longer.
        SELECT claim_volumes, inline_volumes, day, sum(mounts) OVER (ORDER BY claim_volumes DESC, inline_volumes DESC, day) AS mounts_so_far
        FROM
        (
            SELECT claim_volumes, inline_volumes, intDiv(toUnixTimestamp64Micro(pod_created_at), 86400000000) AS day, count() AS mounts
            FROM mounts
            WHERE {limit:UInt64} <= 100000 AND {{template "uses_filter.sql" .}}
            GROUP BY claim_volumes, inline_volumes, day
        )
        QUALIFY mounts_so_far >= 200 * {limit:UInt64}
        ORDER BY mounts_so_far
        LIMIT 1
    )
) AS bound,
{{template "volumes_of_pods.sql" "most"}}
SELECT
    if(count() = 0, 0, any(volumes)) AS bound_volumes,
    if(count() = 0, 0, any(inline)) AS bound_inline,
    if(count() = 0, 9000000000000000000, toUnixTimestamp64Micro(any(created_at))) AS bound_micros
FROM
(
    SELECT countIf(volume != 0) AS volumes, countIf(inline_source != 0) AS inline, any(m.created_at) AS created_at
    FROM mounted AS m
    GROUP BY pod_key
    ORDER BY volumes DESC, inline DESC, created_at
    LIMIT 1 OFFSET {limit:UInt64} - 1
)
