-- Which claims and volumes were resized in a window, or requested a resize. The namespace, the owner and the groups of a volume are those
-- of a claim that had it.
WITH
{{template "claims_of_workload.sql"}}
{since:DateTime64(6, 'UTC')} AS since,
{until:DateTime64(6, 'UTC')} AS until
SELECT
    cluster,
    changed_at AS at,
    kind,
    namespace,
    name,
    action,
    details AS size,
    actor
FROM
(
    -- Two trackers can have dated the same change differently, one of them before the window.
    SELECT cluster, kind, namespace, uid, name, action, details, actor, min(at) AS changed_at
    FROM changes
    WHERE action IN ('resized', 'resize_requested') AND at <= until
      AND (cluster, kind, namespace, uid) IN
      (
          SELECT cluster, kind, namespace, uid FROM changes
          WHERE action IN ('resized', 'resize_requested')
            AND kind IN ('PersistentVolume', 'PersistentVolumeClaim'){{filter "cluster"}}
            AND at >= since AND at <= until
{{- if given "namespace"}}
            AND namespace IN ('', {namespace:String})
{{- end}}
{{- if given "namespace" "owner" "group" "workload"}}
            AND {{key "cluster, uid"}} IN
          ({{template "chosen_claims.sql"}}
           UNION DISTINCT
           {{template "volumes_of_claims.sql"}})
{{- end}}
{{- if given "storageclass"}}
            AND {{key "cluster, uid"}} IN
          (SELECT uid_key FROM claims WHERE storage_class = {storageclass:String}
           UNION DISTINCT
           SELECT uid_key FROM volumes WHERE storage_class = {storageclass:String})
{{- end}}
      )
    GROUP BY cluster, kind, namespace, uid, name, action, details, actor, resource_version
    HAVING changed_at >= since
)
ORDER BY at DESC, cluster, kind, namespace, name, action, details
LIMIT {limit:UInt64}
