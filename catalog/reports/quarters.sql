-- For each cluster that was watched: which quarters mounts_quarterly has, and the last day with coverage. Days count from 1970-01-01.
SELECT cityHash64(c.cluster) AS hash, s.version AS version, toUInt16(s.first_quarter) AS first_day, toUInt16(s.until) AS until_day, toUInt16(toDate(c.seen)) AS seen_day
FROM (SELECT cluster, max(coalesce(ended_at, seen_at)) AS seen FROM coverage FINAL WHERE true{{filter "cluster"}} GROUP BY cluster) AS c
LEFT JOIN (SELECT cluster, first_quarter, until, version FROM summed_quarters FINAL) AS s ON s.cluster = c.cluster
