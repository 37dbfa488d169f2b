{{- /* Included by other reports, with "rolled" for a window of which the rollups may have days. rolled has the whole days, between
       began_micros and ended_micros, that they have of each cluster: details are needed before them and after them, and of a cluster
       without such days in the whole window. No cluster needs details between first_edge and last_edge; in_first_part.sql,
       in_last_part.sql and in_edge.sql compare each cluster with its own days, too, because a new cluster, or one that is no longer
       watched, would else make the report read the details of all. Times are microseconds since 1970. */ -}}
{{if eq . "rolled" -}}
-- The first and the last whole day of the window. The rollups have all days of a cluster between its first and its last one.
toDate(least(intDiv(began_micros + 86399999999, 86400000000), 65535)) AS first_day_of_rollup,
toDate(greatest(intDiv(ended_micros, 86400000000), 1)) - 1 AS last_day_of_rollup,
(
    SELECT mapFromArrays(groupArray(toString(cluster)), groupArray((toInt64(first) * 86400000000, (toInt64(last) + 1) * 86400000000)))
    FROM
    (
        SELECT cluster, toInt32(min(day)) AS first, toInt32(max(day)) AS last
        FROM byte_seconds_daily
        WHERE day BETWEEN first_day_of_rollup AND last_day_of_rollup{{filter "cluster"}}
        GROUP BY cluster
    )
) AS rolled,
NOT hasAll(mapKeys(rolled),
    (
        SELECT groupUniqArray(toString(cluster))
        FROM (SELECT DISTINCT cluster FROM claims WHERE true{{filter "cluster"}} UNION ALL SELECT DISTINCT cluster FROM volumes WHERE true{{filter "cluster"}})
    )) AS some_are_not,
if(some_are_not, ended_micros, arrayMax(r -> r.1, mapValues(rolled))) AS first_edge,
if(empty(rolled), ended_micros, arrayMin(r -> r.2, mapValues(rolled))) AS last_edge,
{{- else -}}
CAST(map(), 'Map(String, Tuple(Int64, Int64))') AS rolled,
ended_micros AS first_edge,
ended_micros AS last_edge,
{{- end}}
