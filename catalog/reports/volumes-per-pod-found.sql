-- How many volumes the last pod has that volumes-per-pod.sql shows, or fewer: a pod that by its spec has fewer need not be looked at. For that, the pods with most by their specs are
-- counted, by two hundred mounts for each pod that is shown: those of several containers, of rows that were replaced since, and of pods that mount less than they could. Where these are of too
-- few pods, or there are not so many mounts, all pods have to be looked at.
WITH
(
    SELECT if(count() = 0, (65535, 65535, 0), any((claim_volumes, inline_volumes, (day + 1) * 86400000000 - 1))) -- no pod has more than 65535
    FROM
    (
        -- By days, as to sort the mounts takes longer.
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
    GROUP BY pod
    ORDER BY volumes DESC, inline DESC, created_at
    LIMIT 1 OFFSET {limit:UInt64} - 1
)
