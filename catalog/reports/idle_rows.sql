{{- /* Included by idle-moment.sql and idle-found.sql, behind idle_candidates.sql: the rows of the report, of which the rest is looked up. */ -}}
SELECT toString(cluster) AS cluster, uid, claim_key, status, idle_micros, seconds, unused_micros, used_micros, is_mount
FROM
(
    SELECT v.cluster AS cluster, v.uid AS uid, v.name AS name, i.*
    FROM (SELECT uid_key, cluster, uid, name FROM volumes FINAL) AS v
    INNER JOIN
    (
        SELECT
            key, claim_key, toString(status) AS status, idle_micros, toInt64(seconds) AS seconds, latest.5 AS unused_micros, used_micros,
            mounted_micros > last_micros AS is_mount -- the last use is among the mounts, and not the last of all
        FROM with_idle
        ORDER BY seconds DESC
        LIMIT {limit:UInt64} WITH TIES
    ) AS i ON i.key = v.uid_key
    ORDER BY seconds DESC, cluster, name, uid
    LIMIT {limit:UInt64}
)
