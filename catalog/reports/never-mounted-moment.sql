-- The claims that existed at a moment and that no container had mounted by then: never-mounted.sql for the past. The size, the
-- phase and the volume are those of the moment; owner, groups and class those that are known last.
WITH
{until:DateTime64(6, 'UTC')} AS moment,
{{template "shared_volumes.sql" ""}}
-- How much more the claims have asked for since the moment, when they became Lost last by then, and whether they became Lost since.
changed AS
(
    SELECT
        cluster, uid, sumIf(bytes, action = 'resize_requested' AND changed_at > moment) AS grown_bytes,
        maxIf(changed_at, action = 'phase' AND changed_at <= moment) AS lost_at,
        countIf(action = 'phase' AND endsWith(details, ' → Lost') AND changed_at > moment) > 0 AS became_lost
    FROM
    (
        -- Two trackers can have dated the same change differently.
        SELECT
            cluster, uid, action, details, min(at) AS changed_at,
            {{template "change_of_size.sql"}}
        FROM changes FINAL
        PREWHERE action IN ('phase', 'resize_requested')
        WHERE kind = 'PersistentVolumeClaim' AND {{template "in_namespaces.sql"}}
        GROUP BY cluster, uid, action, details, resource_version
        HAVING changed_at > moment OR endsWith(details, ' → Lost')
    )
    GROUP BY cluster, uid
),
-- When uses of volumes ended that had begun by the moment: the last ones, also if the mounts have expired since; and those of volumes that
-- several claims had, because pods can go on with a volume when another claim gets it.
volumes_used AS
(
    SELECT volume_key, last_ended_at FROM volume_uses FINAL WHERE last_ended_at <= moment{{filter "cluster"}}
    UNION ALL
    SELECT {{key "cluster, volume_uid"}} AS volume_key, max(ifNull(ended_at, {now:DateTime64(6, 'UTC')}))
    FROM mounts FINAL
    WHERE (cluster, namespace, claim_name) IN (SELECT cluster, namespace, claim_name FROM bindings WHERE {{listed "volume_key" "shared_volumes"}})
      AND pod_created_at <= moment AND started_at <= moment{{filter "cluster"}}
    GROUP BY volume_key
),
-- When each claim was bound last by the moment, to which volume, and whether it had lost that by then; and whether a volume was used since it
-- was bound to the claim.
bound AS
(
    SELECT
        b.claim_key AS claim_key, toUInt8(1) AS was_bound, max(b.began_at) AS last_bound_at, argMax(b.volume_key, b.began_at) AS last_volume,
        argMax(ifNull(b.released_at <= moment, 0), b.began_at) AS last_released,
        max(ifNull(u.last_ended_at > b.began_at AND (ifNull(b.released_at > moment, true) OR u.last_ended_at <= b.released_at), 0)) AS was_used
    FROM volumes_used AS u
    RIGHT JOIN
    (
        SELECT claim_key, volume_key, ifNull(bound_at, toDateTime64(0, 6, 'UTC')) AS began_at, released_at
        FROM bindings FINAL
{{- if given "namespace" "owner" "group"}}
        PREWHERE {{template "in_namespaces.sql"}} AND claim_key IN ({{template "chosen_claims.sql"}})
{{- end}}
        WHERE {{template "bound_by.sql" "until"}}{{filter "cluster"}}
    ) AS b ON u.volume_key = b.volume_key
    GROUP BY claim_key
),
mounted AS
(
    SELECT {{key "cluster, claim_uid"}} AS claim
    FROM mounts FINAL
    WHERE claim_name != '' AND pod_created_at <= moment AND started_at <= moment AND {{template "in_namespaces.sql"}}
    GROUP BY claim
)
SELECT
    c.cluster AS cluster,
    c.namespace AS namespace,
    c.name AS claim,
    -- The change of a phase has the time at which a tracker saw it, and a binding that of Kubernetes, which can be before it.
    multiIf(
        c.phase = 'Lost' AND NOT k.became_lost OR k.lost_at > b.last_bound_at AND (b.last_released OR NOT b.was_bound), 'Lost',
        b.was_bound OR ifNull(c.bound_at <= moment, 0), 'Bound',
        'Pending') AS phase,
    multiIf(b.was_bound AND b.last_volume != c.volume_key, v.name, b.was_bound OR ifNull(c.bound_at <= moment, 0), c.volume_name, '') AS persistentvolume,
    c.storage_class AS storage_class,
    c.owner AS owner,
    c.groups AS groups,
    toInt64(c.requested_bytes - k.grown_bytes) AS requested_bytes,
    c.created_at AS created_at,
    greatest(0, dateDiff('second', c.created_at, moment)) AS age_seconds,
    if(c.unused_since <= moment, c.unused_since, NULL) AS unused_since
FROM
(
    SELECT cluster, namespace, name, uid_key, toString(phase) AS phase, volume_key, volume_name, storage_class, owner, groups, requested_bytes, created_at, bound_at, unused_since
    FROM claims AS c FINAL
    WHERE {{template "existed.sql"}}{{filter "cluster"}}
      AND {{template "claim_filter.sql"}}{{filter "storage_class"}}
      AND uid_key NOT IN (SELECT claim FROM mounted)
) AS c
LEFT JOIN bound AS b ON b.claim_key = c.uid_key
-- A claim that was Lost may have got another volume since.
LEFT JOIN (SELECT uid_key, name FROM volumes FINAL PREWHERE uid_key IN (SELECT volume_key FROM bindings WHERE released_at IS NOT NULL)) AS v ON v.uid_key = b.last_volume
LEFT JOIN changed AS k ON {{key "k.cluster, k.uid"}} = c.uid_key
WHERE NOT b.was_used
ORDER BY created_at, cluster, namespace, claim
LIMIT {limit:UInt64}
