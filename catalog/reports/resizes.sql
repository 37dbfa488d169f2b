-- Which claims and volumes were resized in a window, or requested a resize. The namespace, the owner and the groups of a volume are those
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
      AND kind IN ('PersistentVolume', 'PersistentVolumeClaim'){{filter "cluster"}}
      AND at >= {since:DateTime64(6, 'UTC')} AND at <= {until:DateTime64(6, 'UTC')}
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
ORDER BY at DESC, cluster, kind, namespace, name, action, details
LIMIT {limit:UInt64}
