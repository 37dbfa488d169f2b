-- Who used what for how long: for each claim and each workload that used it in a window, the time during which any pod
-- of the workload used it. Whole days come from the rollup use_seconds_daily if it has them. It keeps them when the
-- mounts of those days have expired. A day of the rollup counts for the owner that there was some three days later: if a
-- pod or claim has got another one since, its use has a row for each. A pod that waits does not use anything yet. A use
-- that ended in a gap of watching counts until the latest moment at which it can have ended. The rollup counts a pod on
-- the day of its first use: a pod that used the claim before the window, not on its first day, and then again, is not
-- counted if the use has other pods.
-- Of the uses that took as long as the last row, --limit shows some, always the same ones. In a large cluster millions
-- of uses take all of the window, and sorting them by name would take longer than the rest.
WITH
toUnixTimestamp64Micro({since:DateTime64(6, 'UTC')}) AS began_micros,
least(toUnixTimestamp64Micro({until:DateTime64(6, 'UTC')}), {now_micros:Int64}) AS ended_micros,
{{template "windows.sql" "rolled"}}
{{template "use_pieces.sql" .}},
{{template "use_rolled.sql" .}}
SELECT
    u.cluster AS cluster,
    u.namespace AS namespace,
    u.claim_name AS claim,
    v.name AS persistentvolume,
    if(v.storage_class != '', v.storage_class, u.claim_class) AS storage_class,
    concat(u.workload_kind, '/', u.workload_name) AS workload,
    u.owner AS owner,
    u.groups AS groups,
    u.pods AS pods,
    u.used_seconds AS used_seconds,
    u.first_day AS first_day,
    u.last_day AS last_day
FROM (SELECT uid_key, name, storage_class FROM volumes FINAL WHERE true{{filter "cluster"}}) AS v
RIGHT JOIN
(
    SELECT u.*, c.storage_class AS claim_class
    FROM (SELECT uid_key, storage_class FROM claims FINAL WHERE {{template "in_namespaces.sql"}}) AS c
    RIGHT JOIN
    (
        SELECT
            any(o.cluster) AS cluster, any(o.namespace) AS namespace, any(o.claim_name) AS claim_name, any(o.claim_uid) AS claim_uid, any(o.volume_uid) AS volume_uid,
            any(o.workload_kind) AS workload_kind, any(o.workload_name) AS workload_name, any(o.owner) AS owner, any(o.groups) AS groups,
            greatest(sum(o.pods_then), 1) AS pods, intDiv(sum(o.micros), 1000000) AS used_seconds, min(o.first) AS first_day, max(o.last) AS last_day
        FROM
        (
            SELECT
                toString(cluster) AS cluster, toString(namespace) AS namespace, claim_name, claim_uid, volume_uid, workload_kind, workload_name, owner, groups,
                uniqExactIf(pod_uid, counts) AS pods_then, sum(greatest(0, ended - greatest(began, reached))) AS micros,
                toDate(intDiv(min(began), 86400000000)) AS first, toDate(intDiv(max(greatest(began, ended - 1)), 86400000000)) AS last
            FROM pieces
            GROUP BY cluster, namespace, claim_name, claim_uid, volume_uid, workload_kind, workload_name, owner, groups
            UNION ALL
            SELECT
                toString(cluster), toString(namespace), claim_name, claim_uid, volume_uid, toString(workload_kind), toString(workload_name), toString(owner), CAST(groups, 'Array(String)'),
                counted_pods, use_seconds * 1000000, first, last
            FROM rolled_uses
        ) AS o
        WHERE {{template "use_chosen.sql"}}
{{- if found .}}
          AND cityHash64({{template "use_columns.sql"}}) IN (SELECT use_hash FROM found)
{{- end}}
        GROUP BY cityHash64({{template "use_columns.sql"}}), farmHash64({{template "use_columns.sql"}})
        ORDER BY used_seconds DESC, cityHash64({{template "use_columns.sql"}})
        LIMIT {limit:UInt64}
    ) AS u ON {{key "u.cluster, u.claim_uid"}} = c.uid_key
) AS u ON {{key "u.cluster, u.volume_uid"}} = v.uid_key
ORDER BY used_seconds DESC, cluster, namespace, claim, u.claim_uid, u.volume_uid, u.workload_kind, u.workload_name, owner, groups
