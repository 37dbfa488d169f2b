-- Volumes and claims that nobody uses, and that nothing will clean up by itself. Claims of generic ephemeral volumes are left out:
-- the API server deletes them with their pods. A use that nobody watched is known only as far as the condition Unused of the
-- claim tells: then the time begins after it. A claim that a pod waits for has no mount yet; that pod is known by its name
-- alone, if it is one of a StatefulSet.
WITH
toIntervalSecond({min_age:Int64}) AS min_age,
volume_orphans AS
(
    SELECT
        v.cluster AS cluster, 'PersistentVolume' AS kind, v.uid AS uid, v.name AS name, v.uid AS volume_uid,
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
        SELECT cluster, uid, name, claim_uid, storage_class, capacity_bytes, phase, phase_changed_at
        FROM volumes FINAL
        WHERE deleted_at IS NULL
          AND ({cluster:String} = '' OR cluster = {cluster:String})
          AND (phase IN ('Failed', 'Available')
               OR phase = 'Released' AND reclaim_policy = 'Retain'
               OR phase = 'Bound' AND (cluster, claim_uid) IN (SELECT cluster, uid FROM claims FINAL WHERE deleted_at IS NOT NULL))
    ) AS v
    LEFT JOIN (SELECT cluster, uid, deleted_at FROM claims FINAL WHERE deleted_at IS NOT NULL) AS c ON c.cluster = v.cluster AND c.uid = v.claim_uid
    LEFT JOIN
    (
        SELECT cluster, volume_uid, count() AS bindings, max(released_at) AS last_released_at, argMax(claim_uid, (coalesce(bound_at, released_at), ordinal)) AS last_claim_uid
        FROM bindings FINAL
        WHERE (cluster, volume_uid) IN (SELECT cluster, uid FROM volumes FINAL WHERE deleted_at IS NULL AND phase = 'Available')
        GROUP BY cluster, volume_uid
    ) AS b ON b.cluster = v.cluster AND b.volume_uid = v.uid
    WHERE v.phase != 'Available' OR b.bindings > 0 AND (since IS NULL OR since <= {now:DateTime64(6, 'UTC')} - min_age)
),
-- The pods that are not over. The first step leaves out by its index what was deleted long ago.
living AS
(
    SELECT cluster, namespace, name, workload_kind, workload_name
    FROM pods FINAL
    WHERE (cluster, namespace, created_at) IN (SELECT cluster, namespace, created_at FROM pods WHERE deleted_at IS NULL)
      AND deleted_at IS NULL AND finished_at IS NULL AND phase NOT IN ('Succeeded', 'Failed')
),
claim_orphans AS
(
    SELECT
        c.cluster AS cluster, 'PersistentVolumeClaim' AS kind, c.uid AS uid, c.name AS name, c.volume_uid AS volume_uid,
        c.storage_class AS storage_class, if(c.capacity_bytes > 0, c.capacity_bytes, c.requested_bytes) AS capacity_bytes,
        multiIf(
            c.phase = 'Lost', 'Lost',
            c.used_until IS NULL AND (c.unseen_until IS NULL OR c.unseen_until <= coalesce(c.bound_at, c.created_at) + INTERVAL 10 SECOND), 'never mounted',
            c.workload_name = '', 'not mounted',
            (c.cluster, c.namespace, c.workload_kind, c.workload_name) IN (SELECT cluster, namespace, workload_kind, workload_name FROM living), 'scaled down',
            'no pods') AS reason,
        if(reason = 'Lost', l.lost_at, arrayMax(arrayFilter(x -> x IS NOT NULL, [c.created_at, c.used_until, c.unseen_until]))) AS since,
        c.uid AS owner_uid,
        multiIf(
            reason = 'Lost', 'delete it, or restore its volume',
            reason = 'scaled down', 'delete it if the workload will not grow again',
            reason = 'no pods', 'delete it if its workload will not come back and nobody needs the data',
            'see whether a pod waits for it; delete it if nobody needs it') AS next_step
    FROM
    (
        -- The workload of a claim is that for which it was made, else that of its last pod.
        SELECT
            cl.cluster AS cluster, cl.uid AS uid, cl.namespace AS namespace, cl.name AS name, cl.phase AS phase, cl.storage_class AS storage_class,
            cl.volume_uid AS volume_uid, cl.capacity_bytes AS capacity_bytes, cl.requested_bytes AS requested_bytes, cl.created_at AS created_at,
            if(f.claim_uid = '', cl.bound_at, f.first_bound_at) AS bound_at, u.in_use AS in_use,
            if(u.last_ended_at >= bound_at OR bound_at IS NULL, u.last_ended_at, NULL) AS used_until, -- else another claim had the volume then
            if(cl.unused_since IS NULL OR v.unseen_use_at > cl.unused_since, v.unseen_use_at, cl.unused_since) AS unseen_until,
            if(cl.workload_name != '', cl.workload_kind, if(used_until IS NULL, '', u.last_workload_kind)) AS workload_kind,
            if(cl.workload_name != '', cl.workload_name, if(used_until IS NULL, '', u.last_workload_name)) AS workload_name
        FROM
        (
            SELECT cluster, uid, namespace, name, phase, storage_class, volume_uid, capacity_bytes, requested_bytes, created_at, bound_at, unused_since, workload_kind, workload_name
            FROM claims FINAL
            WHERE deleted_at IS NULL AND NOT ephemeral
              AND ({cluster:String} = '' OR cluster = {cluster:String})
              AND ({namespace:String} = '' OR namespace = {namespace:String})
        ) AS cl
        LEFT JOIN (SELECT * FROM volume_uses FINAL) AS u ON u.cluster = cl.cluster AND u.volume_uid = cl.volume_uid
        -- A claim that lost its volume and got it again may have used it before.
        LEFT JOIN
        (
            SELECT cluster, claim_uid, volume_uid, argMin(tuple(bound_at), ordinal).1 AS first_bound_at
            FROM bindings FINAL
            WHERE (cluster, claim_uid) IN (SELECT cluster, claim_uid FROM bindings WHERE ordinal > 0)
            GROUP BY cluster, claim_uid, volume_uid
        ) AS f ON f.cluster = cl.cluster AND f.claim_uid = cl.uid AND f.volume_uid = cl.volume_uid
        LEFT JOIN (SELECT cluster, uid, unseen_use_at FROM volumes FINAL WHERE unseen_use_at IS NOT NULL) AS v ON v.cluster = cl.cluster AND v.uid = cl.volume_uid
    ) AS c
    LEFT JOIN
    (
        SELECT cluster, uid, max(toNullable(at)) AS lost_at
        FROM changes FINAL
        WHERE kind = 'PersistentVolumeClaim' AND action = 'phase' AND endsWith(details, ' → Lost')
          AND (cluster, uid) IN (SELECT cluster, uid FROM claims FINAL WHERE phase = 'Lost')
        GROUP BY cluster, uid
    ) AS l ON l.cluster = c.cluster AND l.uid = c.uid
    LEFT JOIN
    (
        SELECT cluster, namespace, workload_kind, workload_name, groupArray(concat('-', name)) AS endings
        FROM living
        WHERE workload_kind = 'StatefulSet'
        GROUP BY cluster, namespace, workload_kind, workload_name
    ) AS w ON w.cluster = c.cluster AND w.namespace = c.namespace AND w.workload_kind = c.workload_kind AND w.workload_name = c.workload_name
    WHERE c.phase = 'Lost'
       OR NOT c.in_use AND since <= {now:DateTime64(6, 'UTC')} - min_age
          AND NOT arrayExists(ending -> endsWith(c.name, ending), w.endings) -- the claim of a StatefulSet's pod is TEMPLATE-POD
          AND (reason IN ('never mounted', 'not mounted')
               OR c.workload_kind = 'StatefulSet'
               OR c.workload_kind != 'CronJob' AND reason = 'no pods')
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
    u.last_pod AS last_pod,
    trim(BOTH '/' FROM concat(u.last_workload_kind, '/', u.last_workload_name)) AS last_workload,
    o.next_step AS next_step
FROM (SELECT * FROM volume_orphans UNION ALL SELECT * FROM claim_orphans) AS o
LEFT JOIN (SELECT cluster, uid, namespace, name, storage_class, owner, groups FROM claims FINAL) AS c ON c.cluster = o.cluster AND c.uid = o.owner_uid
LEFT JOIN (SELECT cluster, volume_uid, last_pod, last_workload_kind, last_workload_name FROM volume_uses FINAL) AS u ON u.cluster = o.cluster AND u.volume_uid = o.volume_uid
WHERE {{template "claim_filter.sql"}}
  AND ({storageclass:String} = '' OR storage_class = {storageclass:String})
ORDER BY orphaned_seconds DESC, cluster, kind, namespace, name, o.uid
LIMIT {limit:UInt64}
