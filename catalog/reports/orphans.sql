-- Volumes and claims that nobody uses, and that nothing will clean up by itself. Claims of generic ephemeral volumes are left out:
-- the API server deletes them with their pods. A use that nobody watched is known only as far as the condition Unused of the
-- claim tells: then the time begins after it. A claim is left out while a pod waits for its volume; before it has one, that
-- pod is known by its name alone, if it is one of a StatefulSet.
WITH
toIntervalSecond({min_age:Int64}) AS min_age,
{{template "lost_volumes.sql"}}
volume_orphans AS
(
    SELECT
        v.cluster AS cluster, 'PersistentVolume' AS kind, v.uid AS uid, v.uid_key AS uid_key, v.name AS name,
        v.storage_class AS storage_class, v.capacity_bytes AS capacity_bytes,
        multiIf(
            v.phase = 'Failed', 'Failed',
            v.phase = 'Released', 'Released, Retain',
            v.phase = 'Available', 'Available, was bound',
            'claim gone') AS reason,
        multiIf(reason = 'claim gone', c.deleted_at, v.phase_changed_at IS NULL, b.last_released_at, v.phase_changed_at) AS since,
        if(v.claim_uid != '', (v.claim_key, v.claim_namespace, v.claim_name), b.last_claim) AS last_claim,
        last_claim.1 AS owner_key, last_claim.2 AS claim_namespace, last_claim.3 AS claim_name,
        multiIf(
            reason = 'Failed', 'see why it failed in its events; then delete it, and its backing store by hand',
            reason = 'claim gone', 'see why it is not released; if nobody needs the data, delete it',
            reason = 'Available, was bound', 'delete it, or bind a claim to it',
            'keep a copy of the data if needed; then delete it, and its backing store by hand, or clear its claimRef to use it again') AS next_step
    FROM
    (
        SELECT cluster, uid, uid_key, name, claim_uid, claim_key, {{template "named_claim.sql"}}, storage_class, capacity_bytes, phase, phase_changed_at
        FROM volumes FINAL
{{- /* FINAL then merges few. */}}
{{- if given "namespace" "owner" "group"}}
        PREWHERE identity(uid_key) IN (SELECT volume_key FROM claimed_volumes WHERE {{template "in_namespaces.sql"}})
{{- else}}
        PREWHERE uid_key IN (SELECT uid_key FROM volumes WHERE {{template "orphaned_volume.sql"}})
{{- end}}
        WHERE {{template "orphaned_volume.sql"}}
    ) AS v
    LEFT JOIN (SELECT uid_key, deleted_at FROM claims AS c FINAL WHERE deleted_at IS NOT NULL AND {{template "claim_filter.sql"}}) AS c ON c.uid_key = v.claim_key
    LEFT JOIN
    (
        SELECT volume_key, count() AS bindings, if(countIf(released_at IS NULL) > 0, NULL, max(released_at)) AS last_released_at,
            argMax((claim_key, toString(namespace), claim_name), (coalesce(bound_at, released_at), ordinal)) AS last_claim
        FROM bindings FINAL
        PREWHERE volume_key IN (SELECT uid_key FROM volumes FINAL WHERE deleted_at IS NULL AND (phase = 'Available' OR phase_changed_at IS NULL))
        GROUP BY volume_key
    ) AS b ON b.volume_key = v.uid_key
    WHERE v.phase != 'Available' OR b.bindings > 0 AND (since IS NULL OR since <= {now:DateTime64(6, 'UTC')} - min_age)
),
-- The orphans with their owners. ClickHouse keeps the right side of a join in memory: the smaller one.
volumes_and_owners AS
(
    SELECT
        o.cluster AS cluster, o.kind AS kind, o.uid AS uid, o.name AS name, o.capacity_bytes AS capacity_bytes, o.reason AS reason, o.since AS since,
        o.next_step AS next_step, if(o.storage_class != '', o.storage_class, c.storage_class) AS storage_class,
        {{template "claim_or_named.sql" "o"}},
        c.owner AS owner, c.groups AS groups, o.uid_key AS volume_key
    FROM (SELECT uid_key, namespace, name, storage_class, owner, groups FROM claims AS c FINAL WHERE {{template "claim_filter.sql"}}) AS c
    RIGHT JOIN volume_orphans AS o ON o.owner_key = c.uid_key
),
-- When the pods that exist were created, read without FINAL, so that an index skips those that were deleted long ago.
existing AS
(
    SELECT created_at FROM pods
    WHERE deleted_at IS NULL AND {{template "in_namespaces.sql"}}
),
-- The workloads with pods that are not over; for StatefulSets, with the last parts of the names of their pods' claims.
-- Joins compare hashes, which is several times as fast as names. PREWHERE also selects pods that were created in the
-- same second as one that exists; WHERE leaves them out.
living AS
(
    SELECT sipHash128(cluster, namespace, workload_kind, workload_name) AS workload, 1 AS lives, groupArrayIf(concat('-', name), workload_kind = 'StatefulSet') AS endings
    FROM pods FINAL
    PREWHERE created_at IN (SELECT created_at FROM existing)
    WHERE deleted_at IS NULL AND finished_at IS NULL AND phase NOT IN ('Succeeded', 'Failed') AND {{template "in_namespaces.sql"}}
    GROUP BY workload
),
-- The claims that nobody uses, with the last use of their volumes. Most belong to a workload that has pods and is no StatefulSet, and
-- has used them since they were bound: these go here, before the joins below. A claim that belongs to no workload yet gets that of
-- the last pod of its volume.
unused_claims AS
(
    SELECT
        c.cluster AS cluster, c.uid AS uid, c.namespace AS namespace, c.name AS name, c.phase AS phase, c.storage_class AS storage_class, c.uid_key AS uid_key, c.volume_key AS volume_key, c.capacity_bytes AS capacity_bytes,
        c.requested_bytes AS requested_bytes, c.created_at AS created_at, c.bound_at AS bound_at, c.unused_since AS unused_since, c.owner AS owner, c.groups AS groups, c.last_ended_at AS last_ended_at, c.made_for AS made_for, c.of_kind AS of_kind, c.of_name AS of_name, w.lives AS lives, w.endings AS endings
    FROM
    (
        SELECT
            cl.cluster AS cluster, cl.uid AS uid, cl.namespace AS namespace, cl.name AS name, cl.phase AS phase, cl.storage_class AS storage_class, cl.uid_key AS uid_key, cl.volume_key AS volume_key,
            cl.capacity_bytes AS capacity_bytes, cl.requested_bytes AS requested_bytes, cl.created_at AS created_at, cl.bound_at AS bound_at, cl.unused_since AS unused_since, cl.owner AS owner, cl.groups AS groups, cl.workload_name AS made_for,
            u.last_ended_at AS last_ended_at,
            if(cl.workload_name != '', cl.workload_kind, u.last_workload_kind) AS of_kind,
            if(cl.workload_name != '', cl.workload_name, u.last_workload_name) AS of_name
        FROM
        (
            SELECT cluster, uid, uid_key, namespace, name, phase, storage_class, volume_key, capacity_bytes, requested_bytes, created_at, bound_at, unused_since,
                workload_kind, workload_name, owner, groups
            FROM claims AS c FINAL
            WHERE deleted_at IS NULL AND NOT ephemeral{{filter "cluster"}}
              AND {{template "claim_filter.sql"}}
              AND (phase = 'Lost' OR volume_key NOT IN
                  (
                      SELECT volume_key FROM volume_states FINAL
{{- if given "namespace" "owner" "group"}}
                      PREWHERE volume_key IN (SELECT volume_key FROM claims AS c WHERE {{template "claim_filter.sql"}})
{{- end}}
                      WHERE status IN ('mounted', 'pending')
                      -- A volume may be in use and deleted; and a new tracker writes the states last.
                      UNION ALL SELECT volume_key FROM volume_uses FINAL WHERE in_use
                  ))
        ) AS cl
        LEFT JOIN
        (
            SELECT volume_key, last_ended_at, last_workload_kind, last_workload_name FROM volume_uses FINAL
{{- if given "namespace" "owner" "group"}}
            PREWHERE volume_key IN (SELECT volume_key FROM claims AS c WHERE {{template "claim_filter.sql"}})
{{- end}}
            WHERE NOT in_use
        ) AS u ON u.volume_key = cl.volume_key
    ) AS c
    LEFT JOIN living AS w ON w.workload = sipHash128(c.cluster, c.namespace, c.of_kind, c.of_name)
    WHERE phase = 'Lost' OR NOT (lives = 1 AND of_name != '' AND of_kind != 'StatefulSet' AND ifNull(last_ended_at >= ifNull(bound_at, last_ended_at), false))
),
claim_orphans AS
(
    SELECT
        c.cluster AS cluster, 'PersistentVolumeClaim' AS kind, c.uid AS uid, c.name AS name,
        if(c.capacity_bytes > 0, c.capacity_bytes, c.requested_bytes) AS capacity_bytes,
        multiIf(
            c.phase = 'Lost', 'Lost',
            c.used_until IS NULL AND (c.unseen_until IS NULL OR c.unseen_until <= coalesce(c.since_bound, c.created_at) + INTERVAL 10 SECOND), 'never mounted',
            c.workload_name = '', 'not mounted',
            c.lives = 1, 'scaled down',
            'no pods') AS reason,
        if(reason = 'Lost', l.lost_at, arrayMax(arrayFilter(x -> x IS NOT NULL, [c.created_at, c.used_until, c.unseen_until]))) AS since,
        multiIf(
            reason = 'Lost', 'delete it, or restore its volume',
            reason = 'scaled down', 'delete it if the workload will not grow again',
            reason = 'no pods', 'delete it if its workload will not come back and nobody needs the data',
            'see whether a pod waits for it; delete it if nobody needs it') AS next_step,
        c.storage_class AS storage_class, c.namespace AS namespace, c.name AS claim, c.owner AS owner, c.groups AS groups, c.volume_key AS volume_key
    FROM
    (
        -- The workload of a claim is that for which it was made, else that of its last pod.
        SELECT
            cl.cluster AS cluster, cl.uid AS uid, cl.namespace AS namespace, cl.name AS name, cl.phase AS phase, cl.storage_class AS storage_class,
            cl.capacity_bytes AS capacity_bytes, cl.requested_bytes AS requested_bytes, cl.created_at AS created_at, cl.owner AS owner, cl.groups AS groups, cl.volume_key AS volume_key,
            cl.lives AS lives, cl.endings AS endings,
            if(f.claim_key = 0, cl.bound_at, f.first_bound_at) AS since_bound,
            if(cl.last_ended_at >= since_bound OR since_bound IS NULL, cl.last_ended_at, NULL) AS used_it_until, -- else another claim had the volume then
            ifNull(used_it_until, former.last_ended_at) AS used_until,
            if(cl.unused_since IS NULL OR v.unseen_use_at > cl.unused_since, v.unseen_use_at, cl.unused_since) AS unseen_until,
            if(cl.made_for = '' AND used_it_until IS NULL, '', cl.of_kind) AS workload_kind,
            if(cl.made_for = '' AND used_it_until IS NULL, '', cl.of_name) AS workload_name
        FROM unused_claims AS cl
        -- A claim that lost its volume and got it again may have used it before.
        LEFT JOIN
        (
            SELECT claim_key, volume_key, argMin(tuple(bound_at), ordinal).1 AS first_bound_at
            FROM bindings FINAL
            PREWHERE claim_key IN (SELECT claim_key FROM bindings WHERE ordinal > 0 AND {{template "in_namespaces.sql"}})
            GROUP BY claim_key, volume_key
        ) AS f ON f.claim_key = cl.uid_key AND f.volume_key = cl.volume_key
        -- It may have used a volume that it lost for good, or pods may go on with that.
        LEFT JOIN
        (
            {{template "lost_uses.sql"}}
        ) AS former ON former.claim_key = cl.uid_key
        LEFT JOIN (SELECT uid_key, unseen_use_at FROM volumes FINAL PREWHERE uid_key IN (SELECT uid_key FROM volumes WHERE unseen_use_at IS NOT NULL) WHERE unseen_use_at IS NOT NULL) AS v ON v.uid_key = cl.volume_key
        WHERE cl.phase = 'Lost' OR NOT former.in_use
    ) AS c
    LEFT JOIN
    (
        SELECT cluster, uid, max(toNullable(at)) AS lost_at
        FROM changes FINAL
        PREWHERE action = 'phase'
        WHERE kind = 'PersistentVolumeClaim' AND endsWith(details, ' → Lost')
          AND (cluster, uid) IN (SELECT cluster, uid FROM claims FINAL WHERE phase = 'Lost' AND {{template "in_namespaces.sql"}})
        GROUP BY cluster, uid
    ) AS l ON l.cluster = c.cluster AND l.uid = c.uid
    WHERE c.phase = 'Lost'
       OR since <= {now:DateTime64(6, 'UTC')} - min_age
          -- The claim of a StatefulSet's pod is TEMPLATE-POD.
          AND NOT (c.workload_name != '' AND arrayExists(ending -> endsWith(c.name, ending), c.endings))
          AND (reason IN ('never mounted', 'not mounted')
               OR c.workload_kind = 'StatefulSet'
               OR c.workload_kind != 'CronJob' AND reason = 'no pods')
),
shown AS
(
    SELECT
        c.*,
        if(since IS NULL, NULL, greatest(0, dateDiff('second', since, {now:DateTime64(6, 'UTC')}))) AS orphaned_seconds,
        k.kept_until AS keep_until, k.kept_for AS keep_reason
    FROM
    (
        SELECT cluster, kind, namespace, uid, name, claim, reason, since, storage_class, capacity_bytes, owner, groups, volume_key, next_step
        FROM volumes_and_owners
        UNION ALL
        SELECT cluster, kind, namespace, uid, name, claim, reason, since, storage_class, capacity_bytes, owner, groups, volume_key, next_step
        FROM claim_orphans
    ) AS c
    -- Few are kept on purpose: the annotation of a volume or its claim says so of both.
    LEFT JOIN
    (
        SELECT cluster AS kept_cluster, arrayJoin([volume_uid, claim_uid]) AS kept_uid, any(keep_until) AS kept_until,
            any(concat(keep_reason, if(keep_unreadable = '', '', concat(if(keep_reason = '', '', '; '), 'unreadable: ', keep_unreadable)))) AS kept_for
        FROM volume_states FINAL
        PREWHERE volume_key IN (SELECT volume_key FROM volume_states WHERE keep_until IS NOT NULL OR keep_unreadable != '')
        WHERE keep_until IS NOT NULL OR keep_unreadable != ''
        GROUP BY kept_cluster, kept_uid
    ) AS k ON {{same "c.cluster, c.uid" "k.kept_cluster, k.kept_uid"}}
    WHERE {{template "claim_filter.sql"}}{{filter "storage_class"}}
    ORDER BY orphaned_seconds DESC, cluster, kind, namespace, name, uid
    LIMIT {limit:UInt64} + 1000 -- so many of them may be in use
)
SELECT
    o.cluster AS cluster,
    o.kind AS kind,
    o.namespace AS namespace,
    o.name AS name,
    o.claim AS claim,
    o.reason AS reason,
    o.since AS orphaned_since,
    o.orphaned_seconds AS orphaned_seconds,
    o.storage_class AS storage_class,
    o.capacity_bytes AS capacity_bytes,
    o.owner AS owner,
    o.groups AS groups,
    u.last_pod AS last_pod,
    trim(BOTH '/' FROM concat(u.last_workload_kind, '/', u.last_workload_name)) AS last_workload,
    o.next_step AS next_step,
    o.keep_until AS keep_until,
    o.keep_reason AS keep_reason
FROM
(
    SELECT volume_key, in_use, last_pod, last_workload_kind, last_workload_name FROM volume_uses FINAL
) AS u
RIGHT JOIN shown AS o ON o.volume_key = u.volume_key
WHERE NOT (o.kind = 'PersistentVolume' AND u.in_use) -- pods go on with a volume whose claim lost its finalizer
ORDER BY orphaned_seconds DESC, cluster, kind, namespace, name, o.uid
LIMIT {limit:UInt64}
