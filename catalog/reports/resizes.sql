-- Which claims and volumes were resized in a window, or asked to be. The namespace, the owner and the groups of a volume are those
-- of a claim that had it.
SELECT
    cluster,
    at,
    kind,
    namespace,
    name,
    action,
    details AS size,
    actor
FROM
(
    SELECT * FROM changes
    WHERE action IN ('resized', 'resize_requested')
      AND kind IN ('PersistentVolume', 'PersistentVolumeClaim')
      AND ({cluster:String} = '' OR cluster = {cluster:String})
      AND at >= {since:DateTime64(6, 'UTC')} AND at <= {until:DateTime64(6, 'UTC')}
      AND ({namespace:String} = '' OR namespace IN ('', {namespace:String}))
      AND (concat({namespace:String}, {owner:String}, {group:String}, {workload:String}) = '' OR ({{hashes "cluster, uid"}}) IN
          ({{template "chosen_claims.sql"}}
           UNION DISTINCT
           {{template "volumes_of_claims.sql"}}))
      AND ({storageclass:String} = '' OR (cluster, uid) IN
          (SELECT cluster, uid FROM claims WHERE storage_class = {storageclass:String}
           UNION DISTINCT
           SELECT cluster, uid FROM volumes WHERE storage_class = {storageclass:String}))
)
ORDER BY at DESC, cluster, kind, namespace, name, action, details
LIMIT {limit:UInt64}
