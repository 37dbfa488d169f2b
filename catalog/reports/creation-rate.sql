-- How many volumes and claims were created in each hour, day or week of a window, and in the same part of the window
-- of the same length before it. The window begins with a whole hour, day or week (UTC, from Monday).
-- The API dates a creation, so it counts at its own time even if it was observed later. An object that came and went while
-- nobody watched is not known: a part that began before somebody watched the cluster is no measure for a later one, and its numbers in
-- volumes_before and claims_before are NULL. The namespace, the owner and the groups of a volume are those of a claim that had it.
WITH
transform({per:String}, ['hour', 'day', 'week'], [3600, 86400, 604800], 86400) AS step,
-- The week of January 1st 1970 began three days before it.
if({per:String} = 'week', 259200, 0) AS before_1970,
intDiv(intDiv(toUnixTimestamp64Micro({since:DateTime64(6, 'UTC')}), 1000000) + before_1970, step) * step - before_1970 AS first,
toUnixTimestamp64Micro(least({until:DateTime64(6, 'UTC')}, {now:DateTime64(6, 'UTC')})) AS last_micros,
toInt64(greatest(1, ceil((last_micros / 1000000 - first) / step))) AS parts,
-- Since when each cluster is watched, and whether it was when the part before that of a slot began.
(
    SELECT mapFromArrays(groupArray(toString(cluster)), groupArray(began))
    FROM
    (
        SELECT cluster, toUnixTimestamp64Micro(min(started_at)) AS began FROM coverage
        WHERE kind IN ('PersistentVolume', 'PersistentVolumeClaim'){{filter "cluster"}}
        GROUP BY cluster
    )
) AS watched,
(name, slot) -> mapContains(watched, name) AND (first + (slot - parts) * step) * 1000000 >= watched[name] AS was_watched_before,
created AS
(
    SELECT cluster, toInt64(1) AS volume, toInt64(0) AS claim, created_at
    FROM volumes
    WHERE created_at IS NOT NULL{{filter "storage_class"}}
{{- if given "namespace" "owner" "group"}}
      AND uid_key IN
          ({{template "volumes_of_claims.sql"}})
{{- end}}
    UNION ALL
    SELECT cluster, 0, 1, created_at
    FROM claims AS c
    WHERE created_at IS NOT NULL{{filter "storage_class"}}
      AND {{template "claim_filter.sql"}}
),
counted AS
(
    SELECT cluster, volume, claim, toInt64(floor((toUnixTimestamp64Micro(assumeNotNull(created_at)) / 1000000 - first) / step)) AS part
    FROM created
    WHERE true{{filter "cluster"}}
      AND toUnixTimestamp64Micro(assumeNotNull(created_at)) < last_micros AND part >= -parts
      AND (part >= 0 OR toUnixTimestamp64Micro(assumeNotNull(created_at)) < last_micros - parts * step * 1000000) -- the last part may not be over
)
SELECT
    cluster,
    toDateTime64(first + slot * step, 6, 'UTC') AS period_start,
    fromUnixTimestamp64Micro(least(last_micros, toInt64(first + (slot + 1) * step) * 1000000), 'UTC') AS period_end,
    sumIf(volume, NOT earlier) AS volumes,
    if(was_watched_before(toString(cluster), slot), sumIf(volume, earlier), NULL) AS volumes_before,
    sumIf(claim, NOT earlier) AS claims,
    if(was_watched_before(toString(cluster), slot), sumIf(claim, earlier), NULL) AS claims_before
FROM
(
    SELECT cluster, volume, claim, part < 0 AS earlier, if(earlier, part + parts, part) AS slot FROM counted
    UNION ALL
    SELECT cluster, 0, 0, 0, arrayJoin(range(parts)) FROM (SELECT DISTINCT cluster FROM counted)
)
GROUP BY cluster, slot
ORDER BY cluster, slot
LIMIT {limit:UInt64}
