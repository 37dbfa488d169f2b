-- Who used what for how long: for each claim and each workload that used it in a window, the time for which any of its pods did. Whole
-- days come from the rollup use_seconds_daily where it has them; it has them also when the mounts of then have expired. A pod that
-- waits uses nothing yet. A use that ended in a gap of watching counts until the latest moment at which it can have ended. The rollup knows of a pod
-- on which day it began: one that used the claim before the window, not on its first day, and then again, is not counted beside others.
WITH
toUnixTimestamp64Micro({since:DateTime64(6, 'UTC')}) AS began_micros,
least(toUnixTimestamp64Micro({until:DateTime64(6, 'UTC')}), {now_micros:Int64}) AS ended_micros,
{{template "windows.sql" "rolled"}}
{{template "use_pieces.sql"}},
{{template "use_rolled.sql"}}
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
FROM (SELECT cluster, uid, name, storage_class FROM volumes FINAL WHERE {cluster:String} = '' OR cluster = {cluster:String}) AS v
RIGHT JOIN
(
    SELECT u.*, c.storage_class AS claim_class
    FROM (SELECT cluster, uid, storage_class FROM claims FINAL WHERE {cluster:String} = '' OR cluster = {cluster:String}) AS c
    RIGHT JOIN
    (
        SELECT
            cluster, namespace, claim_name, claim_uid, volume_uid, workload_kind, workload_name, owner, groups,
            greatest(sum(pods_then), 1) AS pods, intDiv(sum(micros), 1000000) AS used_seconds, min(first) AS first_day, max(last) AS last_day
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
                sum(counted_pods), sum(use_seconds) * 1000000, min(first), max(last)
            FROM rolled_uses
            GROUP BY cluster, namespace, claim_name, claim_uid, volume_uid, workload_kind, workload_name, owner, groups
        )
        WHERE {volume:String} = '' OR (cluster, volume_uid) IN (SELECT cluster, uid FROM its_volumes)
        GROUP BY cluster, namespace, claim_name, claim_uid, volume_uid, workload_kind, workload_name, owner, groups
    ) AS u ON {{same "u.cluster, u.claim_uid" "c.cluster, c.uid"}}
) AS u ON {{same "u.cluster, u.volume_uid" "v.cluster, v.uid"}}
WHERE {storageclass:String} = '' OR storage_class = {storageclass:String}
ORDER BY used_seconds DESC, cluster, namespace, claim, u.claim_uid, u.volume_uid, workload, owner, groups
LIMIT {limit:UInt64}
