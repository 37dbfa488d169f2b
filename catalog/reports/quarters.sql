-- The quarters of a window, from {quarters_since} on, that mounts_quarterly has of all clusters that were watched after they began: the latest ones without a hole, if there are any. And up to which
-- version of mounts they are summed up, of each cluster, by the hash of its name, and of all.
WITH
(
    SELECT groupArray((toString(c.cluster), s.first_quarter, s.last_quarter, s.version, toDate(c.seen)))
    FROM (SELECT cluster, max(coalesce(ended_at, seen_at)) AS seen FROM coverage FINAL WHERE true{{filter "cluster"}} GROUP BY cluster) AS c
    LEFT JOIN (SELECT cluster, first_quarter, last_quarter, version FROM summed_quarters FINAL) AS s ON s.cluster = c.cluster
) AS summed,
toDate(subtractMicroseconds({quarters_since:DateTime64(6, 'UTC')}, 1)) AS day_before,
arrayMap(n -> addQuarters(toStartOfQuarter(day_before), n + 1),
    range(toUInt32(greatest(0, dateDiff('quarter', day_before, toDate(least({until:DateTime64(6, 'UTC')}, {now:DateTime64(6, 'UTC')}))) - 1)))) AS inside,
arrayFilter(q -> arrayAll(c -> q BETWEEN c.2 AND c.3 OR q > c.5, summed), inside) AS whole,
arrayFilter(q -> NOT has(whole, q) AND q < arrayMax(whole), inside) AS holes
SELECT
    toDateTime64(if(empty(holes), whole[1], addQuarters(arrayMax(holes), 1)), 6, 'UTC') AS quarters_begin,
    toDateTime64(addQuarters(arrayMax(whole), 1), 6, 'UTC') AS quarters_end,
    toString(mapFromArrays(arrayMap(c -> cityHash64(c), summed.1), summed.4)) AS summed_versions,
    toString(arrayMin(summed.4)) AS least_version
WHERE notEmpty(whole)
