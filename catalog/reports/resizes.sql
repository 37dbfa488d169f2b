-- Which claims and volumes were resized in a window, or asked to be. The namespace of a volume is that of the claims that
-- had it.
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
      AND ({namespace:String} = '' OR namespace = {namespace:String} OR (cluster, uid) IN
          (SELECT cluster, volume_uid FROM claims WHERE namespace = {namespace:String} AND volume_uid != ''
           UNION DISTINCT
           SELECT cluster, volume_uid FROM bindings WHERE (cluster, claim_uid) IN (SELECT cluster, uid FROM claims WHERE namespace = {namespace:String})))
)
ORDER BY at DESC, cluster, kind, namespace, name, action, details
LIMIT {limit:UInt64}
