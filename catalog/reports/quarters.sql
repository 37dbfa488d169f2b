-- Finds the quarters between {quarters_since} and {quarters_until} that mounts_quarterly covers: the longest run
-- without a hole, if there is any. It covers a quarter if it has the sums of all clusters that were watched after the
-- quarter began, and has them up to the same day if the quarter is not over. summed_versions is the version of mounts
-- up to which each cluster (the hash of its name) is summed up, and least_version the least of them.
WITH
(
    SELECT groupArray((toString(c.cluster), s.first_quarter, s.until, s.version, toDate(c.seen)))
    FROM (SELECT cluster, max(coalesce(ended_at, seen_at)) AS seen FROM coverage FINAL WHERE true{{filter "cluster"}} GROUP BY cluster) AS c
    LEFT JOIN (SELECT cluster, first_quarter, until, version FROM summed_quarters FINAL) AS s ON s.cluster = c.cluster
) AS summed,
toStartOfQuarter(toDate(subtractMicroseconds({quarters_since:DateTime64(6, 'UTC')}, 1))) AS quarter_before,
arrayFilter(q -> q <= arrayMax(summed.5), arrayMap(n -> addQuarters(quarter_before, n + 1), range(toUInt32(greatest(0, dateDiff('quarter', quarter_before, toDate({quarters_until:DateTime64(6, 'UTC')}))))))) AS inside,
-- Each quarter with the days up to which the clusters have its sums.
arrayMap(q -> (q, arrayDistinct(arrayMap(c -> if(q < c.2, q, least(c.3, addQuarters(q, 1))), arrayFilter(c -> q <= c.5, summed)))), inside) AS sums,
arrayMap(s -> (s.1, if(length(s.2) = 1 AND toDateTime64(s.2[1], 6, 'UTC') <= {quarters_until:DateTime64(6, 'UTC')}, s.2[1], s.1)), sums) AS each_until,
-- A run has no hole if each of its quarters but the last one is whole.
arrayFilter(run -> run[1].2 > run[1].1, arraySplit((this, last) -> this.2 <= this.1 OR last.2 < addQuarters(last.1, 1), each_until, arrayPopBack(arrayPushFront(each_until, each_until[1])))) AS runs,
arraySort(run -> run[-1].2 - run[1].1, runs)[-1] AS longest
SELECT
    toDateTime64(longest[1].1, 6, 'UTC') AS quarters_begin,
    toDateTime64(longest[-1].2, 6, 'UTC') AS quarters_end,
    toString(mapFromArrays(arrayMap(c -> cityHash64(c), summed.1), summed.4)) AS summed_versions,
    toString(arrayMin(summed.4)) AS least_version
WHERE notEmpty(runs)
