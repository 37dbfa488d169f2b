-- What waits now because a pod uses a claim: pods that cannot start, and claims that cannot go.
--   ReadWriteOncePod     a pod waits for a claim of this access mode, which another pod uses.
--   attached elsewhere   a pod waits on its node, and its volume, which one node at a time can have, is attached to another one.
--   mounted elsewhere    the same, presumed: a pod on another node uses it, and no VolumeAttachment says whether it is attached.
--   attach error         a pod waits on its node, and the last try to attach its volume there failed.
--   being deleted        a claim is to be deleted, and a pod that is on a node keeps it.
-- A pod waits while it is Pending and no container of it has started. The claims of a Pending pod are those of its spec, in objects: it can
-- have them without a mount, as an init container has started, or an image is missing. A claim is used by each pod that is on a node and not
-- over: its volumes stay mounted until the pod is over. A pod that is over keeps a claim from deletion until it is deleted, too.
-- Each list is made once, as the rows of the report come from several places.
WITH
{{- if found .}}
wanted AS
(
    SELECT DISTINCT cluster, namespace, pod_uid, claim_name, pod, node, pod_created_at AS created_at, pod_owner AS owner, pod_groups AS groups, workload, is_started
    FROM found WHERE pod_uid != ''
),
deleting AS (SELECT cluster, claim_uid AS uid, asked_at FROM found WHERE pod_uid = ''),
awaited AS
(
    SELECT DISTINCT cluster, namespace, claim_name AS name, claim_uid AS uid, storage_class, volume_uid, volume_name, access_modes,
        claim_owner AS owner, claim_groups AS groups, ephemeral, made_for AS pod_uid, volume_key
    FROM found
),
{{- else}}
{{template "blocked_waits.sql"}}
{{- end}}
-- The pods that have such a claim, since their first mount of it; a Pending pod may have none.
(
    SELECT groupArray((cluster, claim_uid, namespace, pod_created_at, pod_uid, used_since))
    FROM
    (
        SELECT cluster, claim_uid, namespace, pod_created_at, pod_uid, min(mounted_at) AS used_since
        FROM
        (
            SELECT toString(cluster) AS cluster, claim_uid, toString(namespace) AS namespace, pod_created_at, pod_uid, toNullable(started_at) AS mounted_at
            FROM mounts FINAL
            -- An index skips the pods that were deleted long ago, and their mounts with them. user_list leaves out pods that
            -- were created in the same second as one that exists.
            PREWHERE pod_created_at IN
                     (
                         SELECT created_at FROM pods
                         WHERE deleted_at IS NULL AND node != '' AND (cluster, namespace) IN (SELECT cluster, namespace FROM awaited)
                     )
                 AND (cluster, namespace, claim_name) IN (SELECT cluster, namespace, name FROM awaited)
            WHERE claim_uid != ''
            UNION ALL
            SELECT c.cluster, c.uid, c.namespace, w.created_at, w.pod_uid, NULL
            FROM wanted AS w
            INNER JOIN awaited AS c ON c.cluster = w.cluster AND c.namespace = w.namespace AND c.name = w.claim_name
        )
        GROUP BY cluster, claim_uid, namespace, pod_created_at, pod_uid
    )
) AS use_list,
(
    SELECT groupArray((toString(h.h.1), h.h.2, p.uid, p.name, toString(p.node), if(p.workload_name = '', concat('Pod/', p.name), concat(p.workload_kind, '/', p.workload_name)),
        h.h.6, p.phase NOT IN ('Succeeded', 'Failed') AND p.finished_at IS NULL, p.started_at IS NOT NULL))
    FROM (SELECT arrayJoin(use_list) AS h) AS h
    INNER JOIN
    (
        SELECT cluster, uid, name, node, workload_kind, workload_name, phase, started_at, finished_at FROM pods FINAL
        PREWHERE created_at IN (SELECT h.4 FROM (SELECT arrayJoin(use_list) AS h)) -- a number of the sorting key: names are compared of fewer rows
        WHERE (cluster, namespace, created_at, uid) IN (SELECT h.1, h.3, h.4, h.5 FROM (SELECT arrayJoin(use_list) AS h)) AND deleted_at IS NULL AND node != ''
    ) AS p ON p.cluster = h.h.1 AND p.uid = h.h.5
) AS user_list,
users AS
(
    SELECT u.1 AS cluster, u.2 AS claim_uid, u.3 AS pod_uid, u.4 AS pod, u.5 AS node, u.6 AS workload, u.7 AS used_since, u.8 AS is_running, u.9 AS is_started FROM (SELECT arrayJoin(user_list) AS u)
),
-- Where VolumeAttachments are watched as long as pods are.
attachments_watched AS
(
    SELECT cluster FROM coverage FINAL
    GROUP BY cluster
    HAVING maxIf(coalesce(ended_at, seen_at), kind = 'VolumeAttachment') >= maxIf(coalesce(ended_at, seen_at), kind = 'Pod') - INTERVAL 5 MINUTE
       AND countIf(kind = 'VolumeAttachment') > 0
),
-- Their keys are read without FINAL first, as most attachments ended long ago.
(
    SELECT groupArray((toString(cluster), volume_uid, toString(node), attached_at, error, attached))
    FROM attachments FINAL
    PREWHERE (cluster, uid) IN (SELECT cluster, uid FROM attachments WHERE detached_at IS NULL AND indexHint(volume_uid IN (SELECT volume_uid FROM awaited)) AND volume_key IN (SELECT volume_key FROM awaited WHERE volume_uid != ''))
    WHERE detached_at IS NULL AND cluster IN (SELECT cluster FROM attachments_watched)
      AND volume_key IN (SELECT volume_key FROM awaited WHERE volume_uid != '')
) AS attached_list,
attached AS (SELECT a.1 AS cluster, a.2 AS volume_uid, a.3 AS node, a.4 AS attached_at, a.5 AS error, a.6 AS is_attached FROM (SELECT arrayJoin(attached_list) AS a)),
(
    SELECT groupArray((toString(cluster), uid, toString(source_kind), toString(driver), notEmpty(access_modes) AND NOT hasAny(CAST(access_modes, 'Array(String)'), ['ReadWriteMany', 'ReadOnlyMany'])))
    FROM volumes FINAL
    PREWHERE uid_key IN (SELECT volume_key FROM awaited) -- no volume has the key of a claim without one
) AS volume_list,
waiting AS
(
    SELECT
        w.cluster AS cluster, w.namespace AS namespace, w.pod_uid AS pod_uid, w.pod AS pod, w.node AS node, w.workload AS workload, w.created_at AS created_at,
        if(w.owner != '', w.owner, c.owner) AS owner, if(notEmpty(w.groups), w.groups, c.groups) AS groups,
        c.uid AS claim_uid, c.name AS claim, c.volume_uid AS volume_uid, c.volume_name AS volume_name, c.storage_class AS storage_class, c.access_modes AS access_modes,
        v.source_kind AS source_kind, v.driver AS driver, v.is_exclusive AS is_exclusive
    FROM wanted AS w
    INNER JOIN awaited AS c ON c.cluster = w.cluster AND c.namespace = w.namespace AND c.name = w.claim_name
    LEFT JOIN (SELECT v.1 AS cluster, v.2 AS uid, v.3 AS source_kind, v.4 AS driver, v.5 AS is_exclusive FROM (SELECT arrayJoin(volume_list) AS v)) AS v
        ON v.cluster = c.cluster AND v.uid = c.volume_uid
    WHERE NOT w.is_started AND (NOT c.ephemeral OR c.pod_uid = w.pod_uid)
),
-- Each waiting pod with the users of its claim, and with the attachments of its volume, those that are done first.
held AS
(
    SELECT
        w.*,
        u.users AS users, -- (pod_uid, pod, workload, node, used_since, is_running, is_started)
        arraySort(x -> (NOT x.4, x.3 = ''), a.attached) AS attached, -- (node, attached_at, error, is_attached)
        -- The attachment to the pod's own node; not attached if there is none.
        arrayFirst(x -> x.1 = w.node, attached) AS own,
        tupleElement(own, 4) AS is_there,
        tupleElement(own, 3) AS own_error,
        arrayFilter(x -> x.4, attached) AS attached_to,
        arrayFilter(x -> x.6, users) AS running,
        w.is_exclusive AND w.node != '' AS needs_node,
        -- Whether it can be attached and no VolumeAttachment tells: in-tree block devices have none, and those of CSI may not be watched.
        -- A CSI driver that needs no attachment blocks nobody.
        w.source_kind IN ('iscsi', 'fc', 'rbd')
            OR w.source_kind = 'csi' AND w.cluster NOT IN (SELECT cluster FROM attachments_watched) AND (w.cluster, w.driver) NOT IN
               (
                   SELECT cluster, toString(any(name)) FROM objects FINAL WHERE kind = 'CSIDriver' GROUP BY cluster, uid
                   HAVING argMax(JSONExtractRaw(object, 'spec', 'attachRequired'), observed_at) = 'false'
               ) AS has_no_attachment
    FROM waiting AS w
    LEFT JOIN (SELECT (cluster, claim_uid) AS its_claim, groupArray((pod_uid, pod, workload, node, used_since, is_running, is_started)) AS users FROM users GROUP BY its_claim) AS u
        ON u.its_claim = (w.cluster, w.claim_uid)
    LEFT JOIN (SELECT (cluster, volume_uid) AS its_volume, groupArray((node, attached_at, error, is_attached)) AS attached FROM attached GROUP BY its_volume) AS a
        ON a.its_volume = (w.cluster, w.volume_uid)
),
-- row is (reason, holder, holder_workload, holder_node, held_since, details).
blocked AS
(
    SELECT
        cluster, namespace, row.1 AS reason, 'Pod' AS kind, pod AS name, workload, toNullable(created_at) AS since, owner, groups, claim, volume_name, storage_class,
        row.2 AS holder, row.3 AS holder_workload, row.4 AS holder_node, row.5 AS held_since, row.6 AS details
    FROM held
    ARRAY JOIN arrayConcat(
        arrayMap(u -> ('ReadWriteOncePod', u.2, u.3, u.4, u.5, ''),
            arrayFilter(u -> has(access_modes, 'ReadWriteOncePod') AND u.1 != pod_uid, running)),
        -- An attachment may be left of a pod that is gone: then nobody holds the volume but the node.
        arrayFlatten(arrayMap(
            a -> arrayMap(u -> ('attached elsewhere', u.2, u.3, a.1, a.2, own_error),
                if(has(running.4, a.1), arrayFilter(u -> u.4 = a.1, running), [('', '', '', '', NULL, false, false)])),
            arrayFilter(a -> needs_node AND NOT is_there AND a.1 != node, attached_to))),
        arrayMap(u -> ('presumed: mounted elsewhere', u.2, u.3, u.4, u.5, ''),
            arrayFilter(u -> needs_node AND has_no_attachment AND u.7 AND u.4 != node AND NOT has(access_modes, 'ReadWriteOncePod'), running)),
        if(NOT is_there AND own_error != '' AND NOT (is_exclusive AND notEmpty(attached_to)), [('attach error', '', '', '', NULL, own_error)], [])) AS row
    UNION ALL
    SELECT
        c.cluster, c.namespace, 'being deleted', 'PersistentVolumeClaim', c.name, '', toNullable(d.asked_at), c.owner, c.groups, c.name, c.volume_name, c.storage_class,
        u.pod, u.workload, u.node, u.used_since, if(u.is_running, '', 'the pod is over')
    FROM deleting AS d
    INNER JOIN awaited AS c ON c.cluster = d.cluster AND c.uid = d.uid
    INNER JOIN users AS u ON u.cluster = d.cluster AND u.claim_uid = d.uid
)
SELECT
    cluster,
    namespace,
    kind,
    name,
    workload,
    reason,
    since AS waits_since,
    greatest(0, dateDiff('second', assumeNotNull(since), {now:DateTime64(6, 'UTC')})) AS waits_seconds,
    owner,
    groups,
    claim,
    volume_name AS persistentvolume,
    storage_class,
    holder,
    holder_workload,
    holder_node,
    held_since,
    details
FROM blocked
WHERE true{{filter "owner" "groups" "storage_class"}}
{{- if given "workload"}}
  AND arrayExists(x -> {{template "named_workload.sql" "x"}}, [workload, holder_workload])
{{- end}}
ORDER BY waits_since, cluster, namespace, kind, name, claim, reason, holder
LIMIT {limit:UInt64}
