-- How long volumes, claims and mounts lasted that ended in a window, by storage class. An end that nobody observed counts at the
-- latest moment at which it can have been.
SELECT
    cluster,
    kind,
    storage_class,
    count() AS ended,
    min(lasted) AS shortest_seconds,
    toInt64(quantileExact(lasted)) AS median_seconds,
    max(lasted) AS longest_seconds
FROM
(
    SELECT cluster, 'PersistentVolume' AS kind, storage_class, '' AS namespace, created_at AS began, deleted_at AS ended_at FROM volumes
    UNION ALL
    SELECT cluster, 'PersistentVolumeClaim', storage_class, namespace, created_at, deleted_at FROM claims
    UNION ALL
    SELECT m.cluster, 'mount', c.storage_class, m.namespace, m.started_at, m.ended_at
    FROM (SELECT cluster, namespace, claim_uid, started_at, ended_at FROM mounts WHERE claim_uid != '') AS m
    LEFT JOIN (SELECT cluster, uid, storage_class FROM claims) AS c ON c.cluster = m.cluster AND c.uid = m.claim_uid
)
ARRAY JOIN [greatest(0, dateDiff('second', assumeNotNull(began), assumeNotNull(ended_at)))] AS lasted
WHERE began IS NOT NULL AND ended_at IS NOT NULL
  AND ended_at >= {since:DateTime64(6, 'UTC')} AND ended_at <= {until:DateTime64(6, 'UTC')}
  AND ({cluster:String} = '' OR cluster = {cluster:String})
  AND ({namespace:String} = '' OR namespace = {namespace:String})
  AND ({storageclass:String} = '' OR storage_class = {storageclass:String})
GROUP BY cluster, kind, storage_class
ORDER BY cluster, kind = 'mount', kind, storage_class
LIMIT {limit:UInt64}
