-- Volumes and claims that nobody uses, and that nothing will clean up by itself. Claims of generic ephemeral volumes are left out:
-- the API server deletes them with their pods. A use that nobody watched is not known.
WITH
toIntervalSecond({min_age:Int64}) AS min_age,
volume_orphans AS
(
    SELECT
        v.cluster AS cluster, 'PersistentVolume' AS kind, v.uid AS uid, v.name AS name, v.claim_uid AS claim_uid,
        v.storage_class AS storage_class, v.capacity_bytes AS capacity_bytes,
        multiIf(
            v.phase = 'Failed', 'Failed',
            v.phase = 'Released', 'Released, Retain',
            v.phase = 'Available', 'Available, was bound',
            'claim gone') AS reason,
        multiIf(reason = 'claim gone', c.deleted_at, v.phase_changed_at IS NULL, b.last_released_at, v.phase_changed_at) AS since,
        if(v.claim_uid != '', v.claim_uid, b.last_claim_uid) AS owner_uid,
        multiIf(
            reason = 'Failed', 'see why it failed in its events; then delete it, and its backing store by hand',
            reason = 'claim gone', 'see why it is not released; if nobody needs the data, delete it',
            reason = 'Available, was bound', 'delete it, or bind a claim to it',
            'keep a copy of the data if needed; then delete it, and its backing store by hand, or clear its claimRef to use it again') AS next_step
    FROM
    (
        SELECT cluster, uid, name, claim_uid, storage_class, capacity_bytes, phase, phase_changed_at, reclaim_policy
        FROM volumes
        WHERE deleted_at IS NULL
          AND ({cluster:String} = '' OR cluster = {cluster:String})
    ) AS v
    LEFT JOIN (SELECT cluster, uid, deleted_at FROM claims WHERE deleted_at IS NOT NULL) AS c ON c.cluster = v.cluster AND c.uid = v.claim_uid
    LEFT JOIN
    (
        SELECT cluster, volume_uid, count() AS bindings, max(released_at) AS last_released_at, argMax(claim_uid, (coalesce(bound_at, released_at), ordinal)) AS last_claim_uid
        FROM bindings
        GROUP BY cluster, volume_uid
    ) AS b ON b.cluster = v.cluster AND b.volume_uid = v.uid
    WHERE v.phase = 'Failed'
       OR v.phase = 'Released' AND v.reclaim_policy = 'Retain'
       OR v.phase = 'Available' AND b.bindings > 0 AND since <= {now:DateTime64(6, 'UTC')} - min_age
       OR v.phase = 'Bound' AND c.deleted_at IS NOT NULL
),
claim_use AS
(
    SELECT
        cluster, claim_uid,
        countIf(ended_at IS NULL) AS running,
        max(ended_at) AS last_ended_at,
        maxIf((assumeNotNull(ended_at), started_at, pod_uid), ended_at IS NOT NULL).3 AS last_pod_uid
    FROM mounts
    WHERE claim_uid != ''
    GROUP BY cluster, claim_uid
),
living AS
(
    SELECT cluster, namespace, name, workload_kind, workload_name
    FROM pods
    WHERE deleted_at IS NULL AND finished_at IS NULL AND phase NOT IN ('Succeeded', 'Failed')
),
claim_orphans AS
(
    SELECT
        c.cluster AS cluster, 'PersistentVolumeClaim' AS kind, c.uid AS uid, c.name AS name, c.uid AS claim_uid,
        c.storage_class AS storage_class, if(c.capacity_bytes > 0, c.capacity_bytes, c.requested_bytes) AS capacity_bytes,
        multiIf(
            c.phase = 'Lost', 'Lost',
            u.last_ended_at IS NULL, 'never mounted',
            (c.cluster, c.namespace, c.workload_kind, c.workload_name) IN (SELECT cluster, namespace, workload_kind, workload_name FROM living), 'scaled down',
            'workload gone') AS reason,
        multiIf(reason = 'Lost', l.lost_at, reason = 'never mounted', c.created_at, u.last_ended_at) AS since,
        c.uid AS owner_uid,
        multiIf(
            reason = 'Lost', 'delete it, or restore its volume',
            reason = 'scaled down', 'delete it if the workload will not grow again',
            'delete it if nobody needs the data') AS next_step
    FROM
    (
        -- The claim of a StatefulSet is TEMPLATE-POD. Its workload else is that of its last pod.
        SELECT
            cl.cluster AS cluster, cl.uid AS uid, cl.namespace AS namespace, cl.name AS name, cl.phase AS phase, cl.storage_class AS storage_class,
            cl.capacity_bytes AS capacity_bytes, cl.requested_bytes AS requested_bytes, cl.unused_since AS unused_since, cl.created_at AS created_at,
            if(cl.workload_name != '', cl.workload_kind, p.workload_kind) AS workload_kind,
            if(cl.workload_name != '', cl.workload_name, p.workload_name) AS workload_name
        FROM claims AS cl
        LEFT JOIN (SELECT cluster, claim_uid, last_pod_uid FROM claim_use) AS lu ON lu.cluster = cl.cluster AND lu.claim_uid = cl.uid
        LEFT JOIN (SELECT cluster, uid, workload_kind, workload_name FROM pods) AS p ON p.cluster = cl.cluster AND p.uid = lu.last_pod_uid
        WHERE cl.deleted_at IS NULL AND NOT cl.ephemeral
          AND ({cluster:String} = '' OR cl.cluster = {cluster:String})
    ) AS c
    LEFT JOIN claim_use AS u ON u.cluster = c.cluster AND u.claim_uid = c.uid
    LEFT JOIN
    (
        SELECT cluster, uid, max(toNullable(at)) AS lost_at
        FROM changes
        WHERE kind = 'PersistentVolumeClaim' AND action = 'phase' AND endsWith(details, ' → Lost')
        GROUP BY cluster, uid
    ) AS l ON l.cluster = c.cluster AND l.uid = c.uid
    LEFT JOIN
    (
        SELECT cluster, namespace, workload_kind, workload_name, groupArray(concat('-', name)) AS endings
        FROM living
        GROUP BY cluster, namespace, workload_kind, workload_name
    ) AS w ON w.cluster = c.cluster AND w.namespace = c.namespace AND w.workload_kind = c.workload_kind AND w.workload_name = c.workload_name
    WHERE c.phase = 'Lost'
       OR u.running = 0 AND since <= {now:DateTime64(6, 'UTC')} - min_age
          -- A pod that waits has no mount yet.
          AND NOT arrayExists(ending -> endsWith(c.name, ending), w.endings)
          AND (reason = 'never mounted'
               OR c.workload_kind = 'StatefulSet'
               OR c.workload_kind != 'CronJob' AND reason = 'workload gone')
)
SELECT
    o.cluster AS cluster,
    o.kind AS kind,
    c.namespace AS namespace,
    o.name AS name,
    c.name AS claim,
    o.reason AS reason,
    o.since AS orphaned_since,
    greatest(0, dateDiff('second', o.since, {now:DateTime64(6, 'UTC')})) AS orphaned_seconds,
    if(o.storage_class != '', o.storage_class, c.storage_class) AS storage_class,
    o.capacity_bytes AS capacity_bytes,
    c.owner AS owner,
    c.groups AS groups,
    p.name AS last_pod,
    trim(BOTH '/' FROM concat(p.workload_kind, '/', p.workload_name)) AS last_workload,
    o.next_step AS next_step
FROM (SELECT * FROM volume_orphans UNION ALL SELECT * FROM claim_orphans) AS o
LEFT JOIN (SELECT cluster, uid, namespace, name, storage_class, owner, groups FROM claims) AS c ON c.cluster = o.cluster AND c.uid = o.owner_uid
LEFT JOIN (SELECT cluster, claim_uid, last_pod_uid FROM claim_use) AS u ON u.cluster = o.cluster AND u.claim_uid = o.owner_uid
LEFT JOIN (SELECT cluster, uid, name, workload_kind, workload_name FROM pods) AS p ON p.cluster = u.cluster AND p.uid = u.last_pod_uid
WHERE {{template "claim_filter.sql"}}
  AND ({storageclass:String} = '' OR storage_class = {storageclass:String})
ORDER BY orphaned_seconds DESC, cluster, kind, namespace, name, o.uid
LIMIT {limit:UInt64}
