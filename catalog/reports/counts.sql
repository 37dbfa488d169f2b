-- How many of each kind there were at a moment. Pods are those that mount storage; mounts are those in use. Volumes count for
-- their claim, and attachments for that of their volume. A pod counts for its own owner, or by a mount, as mounts do. A kind
-- that has neither a claim nor what a filter names is left out with that filter.
WITH
{{template "its_namespaces.sql" ""}},
{{template "of_class.sql"}},
chosen_volumes AS
(
    SELECT cluster, uid, created_at, deleted_at
    FROM volumes
    WHERE {{template "volume_filter.sql"}}
)
SELECT cluster, kind, sum(n) AS count
FROM
(
    SELECT cluster, 'PersistentVolume' AS kind, count() AS n FROM chosen_volumes
    WHERE {{template "existed.sql"}} GROUP BY cluster
    UNION ALL
    SELECT cluster, 'PersistentVolumeClaim', count() FROM claims AS c
    WHERE {{template "claim_filter.sql"}}
      AND ({workload:String} = '' OR (cluster, uid) IN
          ({{template "claims_of_workload.sql"}}))
      AND ({storageclass:String} = '' OR storage_class = {storageclass:String})
      AND {{template "existed.sql"}} GROUP BY cluster
    UNION ALL
    SELECT cluster, 'Pod', count() FROM pods AS c
    WHERE {{template "uses_of.sql"}}
      AND {{template "existed.sql"}}
      AND ({workload:String} = '' OR {workload:String} IN (if(workload_name = '', name, workload_name),
           if(workload_name = '', concat('Pod/', name), concat(workload_kind, '/', workload_name))))
      AND (concat({owner:String}, {group:String}, {storageclass:String}) = ''
           OR {storageclass:String} = '' AND {{template "claim_filter.sql"}}
           OR (cluster, namespace, created_at, uid) IN
              (SELECT cluster, namespace, pod_created_at, pod_uid FROM mounts
               WHERE (cluster, namespace, pod_created_at, pod_uid) IN
                     (SELECT cluster, namespace, created_at, uid FROM pods WHERE {{template "uses_of.sql"}} AND {{template "existed.sql"}})
                 AND {{template "mount_filter.sql"}}))
    GROUP BY cluster
    UNION ALL
    SELECT cluster, 'StorageClass', count() FROM storage_classes
    WHERE concat({namespace:String}, {owner:String}, {group:String}, {workload:String}) = '' AND ({storageclass:String} = '' OR name = {storageclass:String})
      AND {{template "existed.sql"}} GROUP BY cluster
    UNION ALL
    SELECT cluster, 'Namespace', count() FROM namespaces
    WHERE ({namespace:String} = '' OR name = {namespace:String})
      AND ({owner:String} = '' OR owner = {owner:String})
      AND ({group:String} = '' OR has(groups, {group:String}))
      AND concat({storageclass:String}, {workload:String}) = '' AND {{template "existed.sql"}} GROUP BY cluster
    UNION ALL
    SELECT cluster, 'VolumeAttachment', count() FROM attachments
    WHERE (concat({namespace:String}, {owner:String}, {group:String}, {storageclass:String}, {workload:String}) = '' OR (cluster, volume_uid) IN (SELECT cluster, uid FROM chosen_volumes))
      AND attached_at <= {until:DateTime64(6, 'UTC')} AND (detached_at IS NULL OR detached_at > {since:DateTime64(6, 'UTC')})
    GROUP BY cluster
    UNION ALL
    SELECT cluster, 'mount', count() FROM mounts
    WHERE started_at <= {until:DateTime64(6, 'UTC')} AND (ended_at IS NULL OR ended_at > {since:DateTime64(6, 'UTC')})
      AND {{template "mount_filter.sql"}}
    GROUP BY cluster
)
WHERE {cluster:String} = '' OR cluster = {cluster:String}
GROUP BY cluster, kind
ORDER BY cluster, kind = 'mount', kind
LIMIT {limit:UInt64}
