-- Volumes that are mounted at a moment, and whose used bytes and files have not changed for a while. They are in use and not idle: readers
-- change nothing. A row of usage is written only where something has changed since the row before, also if that is the size of the
-- file system alone: the last row whose used bytes or files differ from the row before dates the last change. The table does not
-- say when a kubelet looked last, so times at which nobody looked count as unchanged.
WITH
{{template "uses_chosen.sql" .}},
{{template "owned.sql" .}},
-- The volumes of these mounts; replaced rows may add some.
(
    SELECT groupUniqArray(volume)
    FROM
    (
        SELECT {{key "cluster, volume_uid"}} AS volume FROM touched WHERE volume_uid != ''
        UNION ALL
        SELECT volume_key FROM claims FINAL WHERE (cluster, namespace, uid) IN (SELECT cluster, namespace, claim_uid FROM touched WHERE volume_uid = '')
    )
) AS volume_keys,
-- The last sample of each volume, and the first one since which its used bytes and files are the same.
unchanged AS
(
    SELECT
        cluster, volume_uid,
        list[-1].2 AS used_bytes,
        list[-1].3 AS inodes_used,
        list[greatest(1, arrayLastIndex((used, files) -> used != 0 OR files != 0, arrayDifference(list.2), arrayDifference(list.3)))].1 AS unchanged_since
    FROM
    (
        SELECT cluster, volume_uid, arraySort(groupArray((at, used_bytes, inodes_used))) AS list
        FROM usage
        WHERE at <= {until:DateTime64(6, 'UTC')}{{filter "cluster"}}
{{- if given "namespace" "owner" "group"}}
          AND {{template "namespaces_of_volumes.sql" "volume_keys"}}
{{- end}}
          AND {{listed (key "cluster, volume_uid") "volume_keys"}}
        GROUP BY cluster, volume_uid
    )
)
SELECT
    u.cluster AS cluster,
    u.persistentvolume AS persistentvolume,
    u.namespaces AS namespaces,
    u.claims AS claims,
    u.storage_class AS storage_class,
    u.workloads AS workloads,
    u.read_only AS read_only,
    u.used_since AS used_since,
    s.unchanged_since AS unchanged_since,
    greatest(0, dateDiff('second', s.unchanged_since, least({until:DateTime64(6, 'UTC')}, {now:DateTime64(6, 'UTC')}))) AS unchanged_seconds,
    s.used_bytes AS used_bytes,
    s.inodes_used AS inodes_used
FROM
(
    SELECT
        o.cluster AS cluster, o.volume_uid AS volume_uid, v.name AS persistentvolume,
        if(v.storage_class != '', v.storage_class, o.claim_class) AS storage_class,
        arraySort(groupUniqArray(toString(o.namespace))) AS namespaces,
        arraySort(groupUniqArray(o.claim)) AS claims,
        arraySort(groupUniqArray(o.workload)) AS workloads,
        min(o.read_only) AS read_only,
        min(o.started_at) AS used_since
    FROM owned AS o
    INNER JOIN
    (
        SELECT uid_key, name, storage_class FROM volumes FINAL PREWHERE {{listed "uid_key" "volume_keys"}}
    ) AS v ON v.uid_key = {{key "o.cluster, o.volume_uid"}}
    WHERE o.volume_uid != ''{{filter "storage_class"}}
    GROUP BY cluster, volume_uid, persistentvolume, storage_class
) AS u
INNER JOIN (SELECT cluster, volume_uid, unchanged_since, used_bytes, inodes_used FROM unchanged) AS s ON {{same "s.cluster, s.volume_uid" "u.cluster, u.volume_uid"}}
WHERE unchanged_seconds >= {min_unchanged:Int64}
ORDER BY unchanged_seconds DESC, cluster, persistentvolume, u.volume_uid
LIMIT {limit:UInt64}
