-- How many volumes the last pod has that volumes-per-pod.sql shows, or fewer: a pod that by its spec has fewer need not be looked at. For that, so many mounts are counted as are likely to be
-- those of enough pods, beginning with the pods that have most by their specs. Where these are not enough, or there are few mounts at all, all pods have to be looked at.
WITH
(
    SELECT if(count() = 0, (65535, 65535, 0), any((claim_volumes, inline_volumes, toUnixTimestamp64Micro(pod_created_at))))
    FROM
    (
        SELECT claim_volumes, inline_volumes, pod_created_at FROM mounts
        WHERE {{template "uses_filter.sql" .}}
        ORDER BY claim_volumes DESC, inline_volumes DESC, pod_created_at
        LIMIT 1 OFFSET 50 * least({limit:UInt64}, 1000000)
    )
) AS least,
{{template "volumes_of_pods.sql" "most"}}
SELECT
    if(count() = 0, 0, any(volumes)) AS least_volumes,
    if(count() = 0, 0, any(inline)) AS least_inline,
    if(count() = 0, 9000000000000000000, toUnixTimestamp64Micro(any(created_at))) AS newest_micros
FROM
(
    SELECT countIf(volume != 0) AS volumes, countIf(inline_source != 0) AS inline, any(m.created_at) AS created_at
    FROM mounted AS m
    GROUP BY pod1, pod2
    ORDER BY volumes DESC, inline DESC, created_at
    LIMIT 1 OFFSET {limit:UInt64} - 1
)
