{{- /* Included by idle-moment.sql and idle-found.sql, behind idle_candidates.sql: the rows of the report, without the
columns that are looked up later. */ -}}
SELECT toString(cluster) AS cluster, uid, claim_key, status, idle_micros, seconds, unused_micros, used_micros, is_mount
FROM
(
    SELECT v.cluster AS cluster, v.uid AS uid, v.name AS name, i.*
    FROM (SELECT uid_key, cluster, uid, name FROM volumes FINAL) AS v
    INNER JOIN
    (
        SELECT
            key, claim_key, toString(status) AS status, idle_micros, toInt64(seconds) AS seconds, latest.5 AS unused_micros, used_micros,
            mounted_micros > last_micros AS is_mount -- the mounts have the last use by the moment, as volume_uses has a later one
        FROM with_idle
        ORDER BY seconds DESC
        LIMIT {limit:UInt64} WITH TIES
    ) AS i ON i.key = v.uid_key
    ORDER BY seconds DESC, cluster, name, uid
    LIMIT {limit:UInt64}
)
