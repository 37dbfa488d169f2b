-- What mounts_quarterly has of each cluster that was watched, and the last day on which it was; days are numbers since 1970.
SELECT cityHash64(c.cluster) AS hash, s.version AS version, toUInt16(s.first_quarter) AS first_day, toUInt16(s.until) AS until_day, toUInt16(toDate(c.seen)) AS seen_day
FROM (SELECT cluster, max(coalesce(ended_at, seen_at)) AS seen FROM coverage FINAL WHERE true{{filter "cluster"}} GROUP BY cluster) AS c
LEFT JOIN (SELECT cluster, first_quarter, until, version FROM summed_quarters FINAL) AS s ON s.cluster = c.cluster
