-- How many of each kind there were at a moment. Pods are those that mount storage; mounts are those in use. Volumes count for
-- the claim that they had then, or had last unless they were available again; attachments for the claim of their volume. A pod counts
-- for its own owner, or for that of a mount. With a filter, the report leaves out the kinds to which the filter does not apply.
-- Each table that needs FINAL has it.
{{- $few := given "namespace" "owner" "group" "workload"}}
{{- $then := and $few (eq . "moment")}}
WITH
{{template "claims_of_workload.sql"}}
{{template "of_class.sql"}}
{{- if $then}}
{{template "stays_then.sql"}}
{{- end}}
chosen_volumes AS
(
    SELECT cluster, uid_key, {{template "existed.sql"}} AS existed
    FROM volumes FINAL
{{- if $then}}
    PREWHERE {{template "volume_then.sql" "counts"}}
    WHERE true{{filter "storage_class"}}
{{- else}}
    WHERE {{template "volume_filter.sql"}}
{{- end}}
),
{{- if $few}}
-- ClickHouse computes an array once, and a subquery for each place that names it. A class can have all volumes: too many for an array.
(SELECT groupArray((cluster, uid_key, existed)) FROM chosen_volumes) AS volumes_found,
{{- end}}
-- When the pods were created that may have lasted at the moment, or whose mounts may have, read without FINAL, so that
-- an index skips those that were over before; replaced rows may add some.
touched_pods AS
(
    SELECT created_at FROM pods WHERE {{template "in_namespaces.sql"}} AND {{template "existed.sql"}}
),
touched_mounts AS
(
    SELECT pod_created_at
    FROM mounts
    WHERE {{template "in_namespaces.sql"}} AND {{template "in_window.sql"}}
)
SELECT cluster, kind, sum(n) AS count
FROM
(
    SELECT cluster, 'PersistentVolume' AS kind, count() AS n
{{- if $few}}
    FROM (SELECT v.1 AS cluster, v.3 AS existed FROM (SELECT arrayJoin(volumes_found) AS v))
{{- else}}
    FROM chosen_volumes
{{- end}}
    WHERE existed GROUP BY cluster
    UNION ALL
    SELECT cluster, 'PersistentVolumeClaim', count() FROM claims AS c FINAL
    WHERE {{template "claim_filter.sql"}}
{{- if given "workload"}}
      AND {{listed "uid_key" "workload_claims"}}
{{- end}}{{filter "storage_class"}}
      AND {{template "existed.sql"}} GROUP BY cluster
    UNION ALL
    SELECT cluster, 'Pod', count() FROM pods AS c FINAL
    PREWHERE created_at IN (SELECT created_at FROM touched_pods)
    WHERE {{template "in_namespaces.sql"}} AND {{template "existed.sql"}}
{{- if given "workload"}}
      AND {workload:String} IN (if(workload_name = '', name, workload_name),
           if(workload_name = '', concat('Pod/', name), concat(workload_kind, '/', workload_name)))
{{- end}}
{{- if given "owner" "group" "storageclass"}}
      AND ({{if not (given "storageclass")}}{{template "claim_filter.sql"}} OR {{end}}(cluster, namespace, created_at, uid) IN
              (SELECT cluster, namespace, pod_created_at, pod_uid FROM mounts FINAL
               PREWHERE pod_created_at IN (SELECT created_at FROM touched_pods)
               WHERE {{template "mount_filter.sql"}}))
{{- end}}
    GROUP BY cluster
    UNION ALL
{{- if not (given "namespace" "owner" "group" "workload")}}
    SELECT cluster, 'StorageClass', count() FROM storage_classes FINAL
    WHERE {{template "existed.sql"}}
{{- if given "storageclass"}}
      AND name = {storageclass:String}
{{- end}}
    GROUP BY cluster
    UNION ALL
{{- end}}
{{- if not (given "storageclass" "workload")}}
    SELECT cluster, 'Namespace', count() FROM namespaces FINAL
    WHERE {{template "existed.sql"}}{{filter "owner" "groups"}}
{{- if given "namespace"}}
      AND name = {namespace:String}
{{- end}}
    GROUP BY cluster
    UNION ALL
{{- end}}
    SELECT cluster, 'VolumeAttachment', count() FROM attachments FINAL
    WHERE coalesce(created_at, attached_at) <= {until:DateTime64(6, 'UTC')} AND (detached_at IS NULL OR detached_at > {since:DateTime64(6, 'UTC')})
{{- if given "namespace" "owner" "group" "storageclass" "workload"}}
      AND volume_key IN (SELECT {{if $few}}v.2 FROM (SELECT arrayJoin(volumes_found) AS v){{else}}uid_key FROM chosen_volumes{{end}})
{{- end}}
    GROUP BY cluster
    UNION ALL
    SELECT cluster, 'mount', count() FROM mounts FINAL
    PREWHERE pod_created_at IN (SELECT pod_created_at FROM touched_mounts)
    WHERE {{template "in_window.sql"}}
      AND {{template "mount_filter.sql"}}
    GROUP BY cluster
)
WHERE true{{filter "cluster"}}
GROUP BY cluster, kind
ORDER BY cluster, kind = 'mount', kind
LIMIT {limit:UInt64}
