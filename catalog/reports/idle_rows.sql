{{- /* Included by idle-moment.sql and idle-found.sql, behind idle_candidates.sql: the rows of the report, without the
columns that are looked up later, and perhaps some more that are idle for as long as the last one. */ -}}
SELECT
    key, claim_key, toString(status) AS status, idle_micros, toInt64(seconds) AS seconds, latest.5 AS unused_micros, used_micros,
    mounted_micros > last_micros AS is_mount -- the mounts have the last use by the moment, as volume_uses has a later one
FROM with_idle
ORDER BY seconds DESC
LIMIT {limit:UInt64} WITH TIES
