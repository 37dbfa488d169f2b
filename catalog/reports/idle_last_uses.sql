{{- /* Included by idle-moment.sql and idle-users.sql, behind moment and found: the claims of the volumes, and their last uses by the moment. */ -}}
-- All claims that these volumes have or had.
(
    SELECT groupUniqArray((cluster, namespace, name, volume, claim))
    FROM
    (
        SELECT cluster, namespace, claim_name AS name, volume_key AS volume, claim_key AS claim FROM bindings
        WHERE volume_key IN (SELECT key FROM found){{if given "volume_namespaces"}} AND {{inNamespaces "volume_namespaces" ""}}{{end}}
        UNION ALL
        SELECT cluster, namespace, name, volume_key, uid_key FROM claims
        WHERE volume_key IN (SELECT key FROM found){{if given "volume_namespaces"}} AND {{inNamespaces "volume_namespaces" ""}}{{end}}
        UNION ALL
        SELECT cluster, claim_namespace, claim_name, uid_key, claim_key FROM volumes FINAL PREWHERE uid_key IN (SELECT key FROM found)
        WHERE claim_key != {{key "cluster, ''"}} -- it has none
    )
) AS claims_found,
used_claims AS
(
    SELECT its.1 AS cluster, its.2 AS namespace, its.3 AS name FROM (SELECT arrayJoin(claims_found) AS its) WHERE its.4 IN (SELECT key FROM found WHERE is_mount)
),
-- The pods that used these volumes last. Of several uses that ended at the same time, the one that started last counts.
(
    SELECT groupArray((its_volume, pod.1, pod.2, pod.3, pod.4))
    FROM
    (
        SELECT its_volume, argMax((cluster, namespace, pod_created_at, pod_uid), (ended_at, started_at, pod_uid)) AS pod
        FROM
        (
            SELECT m.cluster AS cluster, m.namespace AS namespace, m.pod_created_at AS pod_created_at, m.pod_uid AS pod_uid, m.started_at AS started_at, m.ended_at AS ended_at,
                if(m.volume_uid != '', {{key "m.cluster, m.volume_uid"}}, c.volume_key) AS its_volume
            FROM
            (
                SELECT cluster, namespace, {{key "cluster, claim_uid"}} AS claim_key, volume_uid, pod_created_at, pod_uid, started_at, assumeNotNull(ended_at) AS ended_at
                FROM mounts FINAL
                -- When the pods were created whose uses ended at one of these times: one number of the sorting key.
                PREWHERE pod_created_at IN
                         (
                             SELECT pod_created_at FROM mounts
                             WHERE (cluster, namespace, claim_name) IN (SELECT cluster, namespace, name FROM used_claims)
                               AND mounts.ended_at IN (SELECT fromUnixTimestamp64Micro(used_micros, 'UTC') FROM found WHERE is_mount)
                         )
                WHERE (cluster, namespace, claim_name) IN (SELECT cluster, namespace, name FROM used_claims)
                  AND pod_created_at <= moment AND started_at <= moment AND mounts.ended_at <= moment
            ) AS m
            LEFT JOIN
            (
                SELECT uid_key, volume_key FROM claims FINAL
                WHERE (cluster, namespace) IN (SELECT its.1, its.2 FROM (SELECT arrayJoin(claims_found) AS its)) AND volume_key IN (SELECT key FROM found)
            ) AS c ON c.uid_key = m.claim_key
        )
        GROUP BY its_volume
    )
) AS last_users
