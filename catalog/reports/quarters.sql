-- What mounts_quarterly has of the quarters from {quarters_since} to {quarters_until}: the latest ones without a hole, if there are any. Of each, all clusters that were watched after it began
-- must have the sums, and of the running quarter up to the same day. And up to which version of mounts they are summed up, of each cluster, by the hash of its name, and of all.
WITH
(
    SELECT groupArray((toString(c.cluster), s.first_quarter, s.until, s.version, toDate(c.seen)))
    FROM (SELECT cluster, max(coalesce(ended_at, seen_at)) AS seen FROM coverage FINAL WHERE true{{filter "cluster"}} GROUP BY cluster) AS c
    LEFT JOIN (SELECT cluster, first_quarter, until, version FROM summed_quarters FINAL) AS s ON s.cluster = c.cluster
) AS summed,
toStartOfQuarter(toDate(subtractMicroseconds({quarters_since:DateTime64(6, 'UTC')}, 1))) AS quarter_before,
arrayFilter(q -> q <= arrayMax(summed.5), arrayMap(n -> addQuarters(quarter_before, n + 1), range(toUInt32(greatest(0, dateDiff('quarter', quarter_before, toDate({quarters_until:DateTime64(6, 'UTC')}))))))) AS inside,
-- Each with the days up to which clusters have its sums.
arrayMap(q -> (q, arrayDistinct(arrayMap(c -> if(q < c.2, q, least(c.3, addQuarters(q, 1))), arrayFilter(c -> q <= c.5, summed)))), inside) AS sums,
arrayFilter(s -> s.2 > s.1 AND toDateTime64(s.2, 6, 'UTC') <= {quarters_until:DateTime64(6, 'UTC')}, arrayMap(s -> (s.1, s.2[1]), arrayFilter(s -> length(s.2) = 1, sums))) AS known,
arrayMax(known.1) AS last_quarter,
arrayFilter(q -> q < last_quarter AND NOT has(known, (q, addQuarters(q, 1))), inside) AS holes
SELECT
    toDateTime64(if(empty(holes), inside[1], addQuarters(arrayMax(holes), 1)), 6, 'UTC') AS quarters_begin,
    toDateTime64(arrayMax(known.2), 6, 'UTC') AS quarters_end,
    toString(mapFromArrays(arrayMap(c -> cityHash64(c), summed.1), summed.4)) AS summed_versions,
    toString(arrayMin(summed.4)) AS least_version
WHERE notEmpty(known)
