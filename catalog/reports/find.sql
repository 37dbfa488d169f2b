-- What a name is: all objects and backing stores that have it as their name, UID, handle, address or path. An object with a
-- namespace can be named with it, too. A backing store is found with the volumes and the pods on it.
-- With a namespace, a volume counts for that of its claim, and objects without a namespace are left out.
-- Since and until are the object's life; for a workload, an owner, a group or a node, those of its pods.
-- The first steps find the keys of all rows with the name, without FINAL, so that indexes can be used; replaced rows may add some.
-- Then the report reads the current rows of these keys.
WITH
(
    SELECT groupUniqArray((cluster, id, kind,
        trim(concat(driver, ' ', server, if(server = '' OR path = '', '', ':'), path)),
        multiIf(server = {name:String}, 'server', path = {name:String}, 'path', id = {name:String}, 'id',
            concat(server, ':', path) = {name:String}, 'server and path', arrayFirst((k, v) -> v = {name:String}, mapKeys(attributes), mapValues(attributes)))))
    FROM volume_sources
    WHERE true{{filter "cluster"}}
      AND (server = {name:String} OR path = {name:String} OR id = {name:String} OR concat(server, ':', path) = {name:String}
           OR has(mapValues(attributes), {name:String}))
) AS store_ids,
stores AS (SELECT s.1 AS cluster, s.2 AS id, s.3 AS kind, s.4 AS backend, s.5 AS match FROM (SELECT arrayJoin(store_ids) AS s)),
(
    SELECT groupUniqArray((cluster, namespace, created_at, uid)) FROM
    (
        SELECT cluster, namespace, created_at, uid FROM pods WHERE name = {name:String}
        UNION ALL
        SELECT cluster, namespace, created_at, uid FROM pods WHERE uid = {name:String}
        UNION ALL
        SELECT cluster, namespace, created_at, uid FROM pods WHERE {{template "claim_named.sql" "{name:String}"}}
        UNION ALL
        -- Other reports name a pod without a controller so, as a workload.
        SELECT cluster, namespace, created_at, uid FROM pods
        WHERE name = substringIndex({name:String}, '/', -1) AND {name:String} IN (concat('Pod/', name), concat(namespace, '/Pod/', name))
    )
) AS named_pods,
(
    SELECT groupUniqArray((cluster, namespace, pod_created_at, pod_uid)) FROM mounts
    WHERE claim_uid = '' AND source_id IN (SELECT id FROM stores) AND (cluster, source_id) IN (SELECT cluster, id FROM stores)
) AS pods_on_stores,
(
    SELECT groupUniqArray((cluster, namespace, created_at, uid)) FROM pods
    WHERE workload_name = substringIndex({name:String}, '/', -1) AND workload_name != ''
      AND (workload_name = {name:String} OR concat(workload_kind, '/', workload_name) = {name:String}
           OR concat(namespace, '/', workload_kind, '/', workload_name) = {name:String})
) AS pods_of_workload_name,
(SELECT groupUniqArray((cluster, namespace, created_at, uid)) FROM pods WHERE workload_uid = {name:String} AND workload_name != '') AS pods_of_workload_uid,
(SELECT groupUniqArray((cluster, namespace, created_at, uid)) FROM pods WHERE node = {name:String}) AS pods_on_node,
(SELECT groupUniqArray((cluster, namespace, created_at, uid)) FROM pods WHERE owner = {name:String}) AS pods_of_owner,
(SELECT groupUniqArray((cluster, namespace, created_at, uid)) FROM pods WHERE has(groups, {name:String})) AS pods_of_group,
(
    SELECT groupUniqArray((cluster, volume_uid, claim_key))
    FROM (SELECT cluster, uid AS volume_uid, claim_namespace AS namespace, claim_name AS name, claim_uid, claim_key FROM volumes)
    WHERE claim_uid != '' AND (name = {name:String} OR claim_uid = {name:String} OR {{template "claim_named.sql" "{name:String}"}})
) AS volumes_of_claim,
found AS
(
    SELECT cluster, 'PersistentVolume' AS kind, '' AS namespace, name, uid,
        multiIf(name = {name:String}, 'name', uid = {name:String}, 'uid', volume_handle = {name:String}, 'handle', 'backing store') AS match,
        created_at AS since, deleted_at AS until
    FROM volumes FINAL
    WHERE (cluster, uid) IN
        (
            SELECT cluster, uid FROM volumes
            WHERE name = {name:String} OR uid = {name:String} OR volume_handle = {name:String} OR (cluster, source_id) IN (SELECT cluster, id FROM stores)
        )
      AND (name = {name:String} OR uid = {name:String} OR volume_handle = {name:String} OR (cluster, source_id) IN (SELECT cluster, id FROM stores)){{filter "claim_namespace"}}
    UNION ALL
    SELECT cluster, 'PersistentVolumeClaim', namespace, name, uid, if(uid = {name:String}, 'uid', 'name'), created_at, deleted_at
    FROM claims FINAL
    WHERE (cluster, namespace, uid) IN
        (SELECT cluster, namespace, uid FROM claims WHERE name = {name:String} OR uid = {name:String} OR {{template "claim_named.sql" "{name:String}"}})
    UNION ALL
    -- A claim that was gone before the first tracker came has no row, but bindings.
    SELECT cluster, 'PersistentVolumeClaim', namespace, any(claim_name), claim_uid, if(claim_uid = {name:String}, 'uid', 'name'), NULL,
        if(countIf(released_at IS NULL) > 0, NULL, max(released_at))
    FROM bindings FINAL
    PREWHERE claim_key IN
             (
                 SELECT claim_key FROM (SELECT claim_key, namespace, claim_name AS name, claim_uid AS uid FROM bindings)
                 WHERE name = {name:String} OR uid = {name:String} OR {{template "claim_named.sql" "{name:String}"}}
             )
    WHERE (cluster, namespace, claim_uid) NOT IN
          (SELECT cluster, namespace, uid FROM claims WHERE name = {name:String} OR uid = {name:String} OR {{template "claim_named.sql" "{name:String}"}})
    GROUP BY cluster, namespace, claim_uid
    UNION ALL
    -- Of a claim whose volume the first tracker found released, only that volume tells: it was gone when its volume was released, or
    -- when the tracker came.
    SELECT v.cluster, 'PersistentVolumeClaim', v.claim_namespace, v.claim_name, v.claim_uid, if(v.claim_uid = {name:String}, 'uid', 'name'), NULL,
        coalesce(v.phase_changed_at, v.deleted_at, w.began_at)
    FROM
    (
        SELECT cluster, claim_namespace, claim_name, claim_uid, phase_changed_at, deleted_at
        FROM volumes FINAL
        WHERE (cluster, uid, claim_key) IN (SELECT k.1, k.2, k.3 FROM (SELECT arrayJoin(volumes_of_claim) AS k)) AND phase IN ('Released', 'Failed')
          AND claim_key NOT IN (SELECT uid_key FROM claims WHERE uid_key IN (SELECT k.3 FROM (SELECT arrayJoin(volumes_of_claim) AS k)))
          AND claim_key NOT IN (SELECT claim_key FROM bindings WHERE claim_key IN (SELECT k.3 FROM (SELECT arrayJoin(volumes_of_claim) AS k)))
    ) AS v
    LEFT JOIN (SELECT cluster, toNullable(min(started_at)) AS began_at FROM coverage GROUP BY cluster) AS w ON w.cluster = v.cluster
    UNION ALL
    SELECT cluster, 'Pod', namespace, name, uid, if(uid = {name:String}, 'uid', 'name'), created_at, deleted_at
    FROM pods FINAL
    WHERE (cluster, namespace, created_at, uid) IN (SELECT k.1, k.2, k.3, k.4 FROM (SELECT arrayJoin(named_pods) AS k))
    UNION ALL
    SELECT cluster, 'Pod', namespace, name, uid, 'backing store', created_at, deleted_at
    FROM pods FINAL
    WHERE (cluster, namespace, created_at, uid) IN (SELECT k.1, k.2, k.3, k.4 FROM (SELECT arrayJoin(pods_on_stores) AS k))
    UNION ALL
    SELECT cluster, workload_kind, namespace, workload_name, workload_uid, if(workload_uid = {name:String}, 'uid', 'name'),
        min(created_at), if(countIf(deleted_at IS NULL) > 0, NULL, max(deleted_at))
    FROM pods FINAL
    WHERE (cluster, namespace, created_at, uid) IN
        (SELECT k.1, k.2, k.3, k.4 FROM (SELECT arrayJoin(arrayConcat(pods_of_workload_name, pods_of_workload_uid)) AS k))
      AND workload_name != ''
      AND (workload_name = {name:String} OR workload_uid = {name:String} OR concat(workload_kind, '/', workload_name) = {name:String}
           OR concat(namespace, '/', workload_kind, '/', workload_name) = {name:String})
    GROUP BY cluster, workload_kind, namespace, workload_name, workload_uid
    UNION ALL
    SELECT cluster, 'Node', '', node, '', 'name', min(created_at), if(countIf(deleted_at IS NULL) > 0, NULL, max(deleted_at))
    FROM pods FINAL
    WHERE (cluster, namespace, created_at, uid) IN (SELECT k.1, k.2, k.3, k.4 FROM (SELECT arrayJoin(pods_on_node) AS k)) AND node = {name:String}
    GROUP BY cluster, node
    UNION ALL
    SELECT cluster, 'Owner', namespace, owner, '', 'name', min(created_at), if(countIf(deleted_at IS NULL) > 0, NULL, max(deleted_at))
    FROM
    (
        SELECT cluster, namespace, owner, created_at, deleted_at
        FROM pods FINAL
        WHERE (cluster, namespace, created_at, uid) IN (SELECT k.1, k.2, k.3, k.4 FROM (SELECT arrayJoin(pods_of_owner) AS k)) AND owner = {name:String}
        UNION ALL
        SELECT cluster, namespace, owner, created_at, deleted_at
        FROM claims FINAL
        WHERE (cluster, namespace, uid) IN (SELECT cluster, namespace, uid FROM claims WHERE owner = {name:String}) AND owner = {name:String}
    )
    GROUP BY cluster, namespace, owner
    UNION ALL
    SELECT cluster, 'Group', namespace, {name:String}, '', 'name', min(created_at), if(countIf(deleted_at IS NULL) > 0, NULL, max(deleted_at))
    FROM
    (
        SELECT cluster, namespace, created_at, deleted_at
        FROM pods FINAL
        WHERE (cluster, namespace, created_at, uid) IN (SELECT k.1, k.2, k.3, k.4 FROM (SELECT arrayJoin(pods_of_group) AS k)) AND has(groups, {name:String})
        UNION ALL
        SELECT cluster, namespace, created_at, deleted_at
        FROM claims FINAL
        WHERE (cluster, namespace, uid) IN (SELECT cluster, namespace, uid FROM claims WHERE has(groups, {name:String})) AND has(groups, {name:String})
    )
    GROUP BY cluster, namespace
    UNION ALL
    SELECT cluster, 'StorageClass', '', name, uid, if(uid = {name:String}, 'uid', 'name'), created_at, deleted_at
    FROM storage_classes FINAL WHERE name = {name:String} OR uid = {name:String}
    UNION ALL
    SELECT cluster, 'Namespace', '', name, uid, if(uid = {name:String}, 'uid', 'name'), created_at, deleted_at
    FROM namespaces FINAL WHERE name = {name:String} OR uid = {name:String}
    UNION ALL
    SELECT cluster, 'VolumeAttachment', '', node, uid, 'uid', created_at, detached_at
    FROM attachments FINAL
    WHERE (cluster, uid) IN (SELECT cluster, uid FROM attachments WHERE uid = {name:String})
    UNION ALL
    SELECT cluster, 'backing store', '', trim(concat(kind, ' ', backend)), id, match, NULL, NULL
    FROM stores
)
SELECT DISTINCT cluster, kind, namespace, name, uid, match AS matched, since, until
FROM found
WHERE true{{filter "cluster"}}
{{- if given "namespace"}}
  AND (namespace = {namespace:String} OR kind = 'PersistentVolume' OR kind = 'Namespace' AND name = {namespace:String})
{{- end}}
ORDER BY kind, cluster, namespace, name, until IS NULL DESC, until DESC, since, uid, matched
LIMIT {limit:UInt64}
