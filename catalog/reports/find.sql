-- What a name is: all objects and backing stores that have it as their name, UID, handle, address or path. An object with a
-- namespace can be named with it, too. A backing store is found with the volumes and the pods on it.
-- Since and until are the object's life; of a workload, an owner, a group or a node they are that of its pods.
WITH
stores AS
(
    SELECT cluster, id, kind, driver,
        trim(concat(driver, ' ', server, if(server = '' OR path = '', '', ':'), path)) AS backend,
        multiIf(server = {name:String}, 'server', path = {name:String}, 'path', id = {name:String}, 'id',
            concat(server, ':', path) = {name:String}, 'server and path', arrayFirst((k, v) -> v = {name:String}, mapKeys(attributes), mapValues(attributes))) AS match
    FROM volume_sources
    WHERE ({cluster:String} = '' OR cluster = {cluster:String})
      AND (server = {name:String} OR path = {name:String} OR id = {name:String} OR concat(server, ':', path) = {name:String}
           OR has(mapValues(attributes), {name:String}))
),
found AS
(
    SELECT cluster, 'PersistentVolume' AS kind, '' AS namespace, name, uid,
        multiIf(name = {name:String}, 'name', uid = {name:String}, 'uid', volume_handle = {name:String}, 'handle', 'backing store') AS match,
        created_at AS since, deleted_at AS until
    FROM volumes
    WHERE name = {name:String} OR uid = {name:String} OR volume_handle = {name:String} OR (cluster, source_id) IN (SELECT cluster, id FROM stores)
    UNION ALL
    SELECT cluster, 'PersistentVolumeClaim', namespace, name, uid, if(uid = {name:String}, 'uid', 'name'), created_at, deleted_at
    FROM claims
    WHERE name = {name:String} OR uid = {name:String} OR concat(namespace, '/', name) = {name:String}
    UNION ALL
    SELECT cluster, 'Pod', namespace, name, uid, if(uid = {name:String}, 'uid', 'name'), created_at, deleted_at
    FROM pods
    WHERE name = {name:String} OR uid = {name:String} OR concat(namespace, '/', name) = {name:String}
    UNION ALL
    SELECT p.cluster, 'Pod', p.namespace, p.name, p.uid, 'backing store', p.created_at, p.deleted_at
    FROM pods AS p
    WHERE (p.cluster, p.namespace, p.uid) IN
        (SELECT cluster, namespace, pod_uid FROM mounts WHERE claim_uid = '' AND (cluster, source_id) IN (SELECT cluster, id FROM stores))
    UNION ALL
    SELECT cluster, workload_kind, namespace, workload_name, workload_uid, if(workload_uid = {name:String}, 'uid', 'name'),
        min(created_at), if(countIf(deleted_at IS NULL) > 0, NULL, max(deleted_at))
    FROM pods
    WHERE workload_name != ''
      AND (workload_name = {name:String} OR workload_uid = {name:String} OR concat(workload_kind, '/', workload_name) = {name:String}
           OR concat(namespace, '/', workload_kind, '/', workload_name) = {name:String})
    GROUP BY cluster, workload_kind, namespace, workload_name, workload_uid
    UNION ALL
    SELECT cluster, 'Node', '', node, '', 'name', min(created_at), if(countIf(deleted_at IS NULL) > 0, NULL, max(deleted_at))
    FROM pods WHERE node = {name:String} GROUP BY cluster, node
    UNION ALL
    SELECT cluster, 'Owner', namespace, owner, '', 'name', min(created_at), if(countIf(deleted_at IS NULL) > 0, NULL, max(deleted_at))
    FROM (SELECT cluster, namespace, owner, created_at, deleted_at FROM pods WHERE owner = {name:String}
          UNION ALL SELECT cluster, namespace, owner, created_at, deleted_at FROM claims WHERE owner = {name:String})
    GROUP BY cluster, namespace, owner
    UNION ALL
    SELECT cluster, 'Group', namespace, {name:String}, '', 'name', min(created_at), if(countIf(deleted_at IS NULL) > 0, NULL, max(deleted_at))
    FROM (SELECT cluster, namespace, created_at, deleted_at FROM pods WHERE has(groups, {name:String})
          UNION ALL SELECT cluster, namespace, created_at, deleted_at FROM claims WHERE has(groups, {name:String}))
    GROUP BY cluster, namespace
    UNION ALL
    SELECT cluster, 'StorageClass', '', name, uid, if(uid = {name:String}, 'uid', 'name'), created_at, deleted_at
    FROM storage_classes WHERE name = {name:String} OR uid = {name:String}
    UNION ALL
    SELECT cluster, 'Namespace', '', name, uid, if(uid = {name:String}, 'uid', 'name'), created_at, deleted_at
    FROM namespaces WHERE name = {name:String} OR uid = {name:String}
    UNION ALL
    SELECT cluster, 'VolumeAttachment', '', node, uid, 'uid', attached_at, detached_at
    FROM attachments WHERE uid = {name:String}
    UNION ALL
    SELECT cluster, 'backing store', '', trim(concat(kind, ' ', backend)), id, match, NULL, NULL
    FROM stores
)
SELECT DISTINCT cluster, kind, namespace, name, uid, match AS matched, since, until
FROM found
WHERE {cluster:String} = '' OR cluster = {cluster:String}
ORDER BY kind, cluster, namespace, name, until IS NULL DESC, until DESC, since, uid, matched
LIMIT {limit:UInt64}
