-- How many of each kind there were at a moment. Pods are those that mount storage; mounts are those in use.
SELECT cluster, kind, sum(n) AS count
FROM
(
    SELECT cluster, 'PersistentVolume' AS kind, count() AS n FROM volumes
    WHERE {namespace:String} = '' AND {{template "existed.sql"}} GROUP BY cluster
    UNION ALL
    SELECT cluster, 'PersistentVolumeClaim', count() FROM claims
    WHERE ({namespace:String} = '' OR namespace = {namespace:String}) AND {{template "existed.sql"}} GROUP BY cluster
    UNION ALL
    SELECT cluster, 'Pod', count() FROM pods
    WHERE ({namespace:String} = '' OR namespace = {namespace:String}) AND {{template "existed.sql"}} GROUP BY cluster
    UNION ALL
    SELECT cluster, 'StorageClass', count() FROM storage_classes
    WHERE {namespace:String} = '' AND {{template "existed.sql"}} GROUP BY cluster
    UNION ALL
    SELECT cluster, 'Namespace', count() FROM namespaces
    WHERE ({namespace:String} = '' OR name = {namespace:String}) AND {{template "existed.sql"}} GROUP BY cluster
    UNION ALL
    SELECT cluster, 'VolumeAttachment', count() FROM attachments
    WHERE {namespace:String} = '' AND attached_at <= {until:DateTime64(6, 'UTC')} AND (detached_at IS NULL OR detached_at > {since:DateTime64(6, 'UTC')})
    GROUP BY cluster
    UNION ALL
    SELECT cluster, 'mount', count() FROM mounts
    WHERE ({namespace:String} = '' OR namespace = {namespace:String})
      AND started_at <= {until:DateTime64(6, 'UTC')} AND (ended_at IS NULL OR ended_at > {since:DateTime64(6, 'UTC')})
    GROUP BY cluster
)
WHERE {cluster:String} = '' OR cluster = {cluster:String}
GROUP BY cluster, kind
ORDER BY cluster, kind = 'mount', kind
LIMIT {limit:UInt64}
