-- Volumes that are mounted at a moment, and whose used bytes and files have not changed for a while. They are in use and not idle: readers
-- change nothing. A row of usage is written only where something has changed since the row before, also if that is the size of the
-- file system alone: the last row whose used bytes or files differ from the row before dates the last change. The table does not
-- say when a kubelet looked last, so times at which nobody looked count as unchanged.
WITH
{{template "uses.sql" .}},
steps AS
(
    SELECT
        cluster, volume_uid, at, used_bytes, inodes_used,
        row_number() OVER (PARTITION BY cluster, volume_uid ORDER BY at) AS number,
        any(used_bytes) OVER (PARTITION BY cluster, volume_uid ORDER BY at ROWS BETWEEN 1 PRECEDING AND 1 PRECEDING) AS used_before,
        any(inodes_used) OVER (PARTITION BY cluster, volume_uid ORDER BY at ROWS BETWEEN 1 PRECEDING AND 1 PRECEDING) AS inodes_before
    FROM usage
    WHERE at <= {until:DateTime64(6, 'UTC')} AND (cluster, volume_uid) IN (SELECT cluster, volume_uid FROM uses)
),
unchanged AS
(
    SELECT
        cluster, volume_uid,
        maxIf(at, number = 1 OR steps.used_bytes != used_before OR steps.inodes_used != inodes_before) AS unchanged_since,
        argMax(used_bytes, at) AS used_bytes,
        argMax(inodes_used, at) AS inodes_used
    FROM steps
    GROUP BY cluster, volume_uid
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
        cluster, volume_uid, persistentvolume, storage_class,
        arraySort(groupUniqArray(toString(namespace))) AS namespaces,
        arraySort(groupUniqArray(claim)) AS claims,
        arraySort(groupUniqArray(workload)) AS workloads,
        min(read_only) AS read_only,
        min(started_at) AS used_since
    FROM uses
    WHERE volume_uid != ''
    GROUP BY cluster, volume_uid, persistentvolume, storage_class
) AS u
INNER JOIN unchanged AS s ON s.cluster = u.cluster AND s.volume_uid = u.volume_uid
WHERE unchanged_seconds >= {min_unchanged:Int64}
ORDER BY unchanged_seconds DESC, cluster, persistentvolume, u.volume_uid
LIMIT {limit:UInt64}
