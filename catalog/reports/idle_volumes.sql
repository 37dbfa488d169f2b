{{- /* Included by idle-moment.sql and idle-volumes.sql, behind moment and found: what the rows say of their volumes, and who
used them last, if that is still their last use. */ -}}
SELECT
    v.uid_key AS key, toString(v.cluster) AS cluster, v.uid AS uid, v.name AS name, toString(v.storage_class) AS storage_class,
    toString(v.reclaim_policy) AS reclaim_policy, toInt64(v.capacity_bytes - g.grown_bytes) AS capacity_bytes, m.used_bytes AS used_bytes,
    toString(u.last_namespace) AS last_namespace, u.last_pod AS last_pod, concat(u.last_workload_kind, '/', u.last_workload_name) AS last_workload
FROM
(
    SELECT uid_key, cluster, uid, name, storage_class, reclaim_policy, capacity_bytes
    FROM volumes FINAL PREWHERE uid_key IN (SELECT key FROM found)
) AS v
LEFT JOIN
(
    SELECT volume_key, last_namespace, last_pod, last_workload_kind, last_workload_name
    FROM volume_uses FINAL PREWHERE volume_key IN (SELECT key FROM found) WHERE last_ended_at <= moment
) AS u ON u.volume_key = v.uid_key
LEFT JOIN
(
    SELECT key, sum(bytes) AS grown_bytes
    FROM
    (
        -- Two trackers can have dated the same change differently.
        SELECT
            {{key "cluster, uid"}} AS key, min(at) AS resized_at,
            {{template "change_of_size.sql"}}
        FROM changes FINAL
        PREWHERE action = 'resized'
        WHERE kind = 'PersistentVolume' AND namespace = ''{{filter "cluster"}}
          AND {{key "cluster, uid"}} IN (SELECT key FROM found)
        GROUP BY key, details, resource_version
        HAVING resized_at > moment
    )
    GROUP BY key
) AS g ON g.key = v.uid_key
LEFT JOIN
(
    SELECT volume_key, toNullable(argMax(used_bytes, at)) AS used_bytes
    FROM
    (
        SELECT {{key "cluster, volume_uid"}} AS volume_key, at, used_bytes
        FROM usage
        WHERE at <= moment
          AND (cluster, namespace) IN
              (
                  SELECT cluster, namespace FROM claimed_volumes
                  WHERE identity(volume_key) IN (SELECT key FROM found){{if given "volume_namespaces"}} AND {{inNamespaces "volume_namespaces" ""}}{{end}}
              )
          -- The text in place of the key, which would be computed of each sample.
          AND volume_uid IN (SELECT uid FROM volumes PREWHERE uid_key IN (SELECT key FROM found))
        UNION ALL
        -- without FINAL: a replaced row is an earlier sample
        SELECT volume_key, at, used_bytes FROM last_usage
        PREWHERE volume_key IN (SELECT key FROM found) WHERE at <= moment
    )
    GROUP BY volume_key
) AS m ON m.volume_key = v.uid_key
