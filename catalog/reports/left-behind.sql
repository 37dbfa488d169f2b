-- The volumes that were deleted under the reclaim policy Retain and whose backing store has not appeared again in any cluster,
-- longest ago first. Nobody looks at the backend: the store is presumed to be there.
-- A store is the same by kind, driver, server and path (for CSI, the handle), and not by its id: the id also covers fields
-- such as readOnly, and clusters do not share it. A source that names no store is compared by all of its fields. A path of a node
-- (local or hostPath, which name the same) is compared within its cluster only, and the report does not look at the node. So the
-- same path on another node hides a volume: the report misses a store rather than presume one left that is in use.
-- Of several deleted volumes with one store, the one that was deleted last counts. Where two were deleted at the same time,
-- the one whose reclaim policy deletes the store counts.
-- Only the stores of volumes that were deleted under Retain are looked at. A hash is joined instead of names: that is twice as
-- fast.
WITH
all_stores AS
(
    SELECT
        id_key,
        {{template "store_of.sql" "wide"}},
        sipHash128(store, if(name = '', toString(mapSort(attributes)), '')) AS store_hash
    FROM volume_sources
),
stores AS
(
    SELECT id_key, backend, store_hash AS store
    FROM all_stores
    WHERE store_hash IN
    (
        SELECT store_hash FROM all_stores
        WHERE id_key IN
            (SELECT source_key FROM volumes WHERE reclaim_policy = 'Retain' AND deleted_at <= {until:DateTime64(6, 'UTC')})
    )
),
-- Each volume that was created by {until}, with its end as it was known then, or the end of time.
known AS
(
    SELECT
        v.*,
        s.backend AS backend,
        -- A source that is not known is not shared.
        if(s.id_key = 0, sipHash128(v.cluster, v.uid), s.store) AS store,
        (
            if(v.deleted_at IS NULL OR v.deleted_at > {until:DateTime64(6, 'UTC')}, toDateTime64('2299-12-31 23:59:59', 6, 'UTC'), assumeNotNull(v.deleted_at)),
            v.reclaim_policy != 'Retain', v.cluster, v.uid
        ) AS gone
    FROM
    (
        SELECT cluster, uid, uid_key, name, storage_class, source_kind, source_key, capacity_bytes, reclaim_policy, claim_key, {{template "named_claim.sql"}}, deleted_at, deleted_not_before
        FROM volumes
        WHERE (created_at IS NULL OR created_at <= {until:DateTime64(6, 'UTC')})
          AND (source_key IN (SELECT id_key FROM stores)
               OR reclaim_policy = 'Retain' AND deleted_at <= {until:DateTime64(6, 'UTC')})
    ) AS v
    LEFT JOIN stores AS s ON s.id_key = v.source_key
),
-- The last use of each store by pods that name it themselves.
inline AS
(
    SELECT s.store AS store, max(m.used_until) AS used_until
    FROM
    (
        SELECT cluster, source_id, max(coalesce(ended_at, toDateTime64('2299-12-31 23:59:59', 6, 'UTC'))) AS used_until
        FROM mounts
        WHERE claim_uid = '' AND volume_uid = '' AND source_id != '' AND started_at <= {until:DateTime64(6, 'UTC')}
        GROUP BY cluster, source_id
    ) AS m
    INNER JOIN stores AS s ON s.id_key = {{key "m.cluster, m.source_id"}}
    GROUP BY store
)
SELECT
    v.cluster AS cluster,
    v.name AS persistentvolume,
    v.source_kind AS source,
    v.backend AS backend,
    v.capacity_bytes AS capacity_bytes,
    v.storage_class AS storage_class,
    {{template "claim_or_named.sql" "v"}},
    c.owner AS owner,
    c.groups AS groups,
    u.last_pod AS last_pod,
    trim(BOTH '/' FROM concat(u.last_workload_kind, '/', u.last_workload_name)) AS last_workload,
    u.last_ended_at AS last_used_at,
    v.deleted_at AS deleted_at,
    if(v.deleted_not_before = v.deleted_at, NULL, v.deleted_not_before) AS deleted_not_before
FROM known AS v
INNER JOIN (SELECT store, max(gone) AS gone FROM known GROUP BY store) AS last ON last.store = v.store
LEFT JOIN inline AS i ON i.store = v.store
LEFT JOIN (SELECT uid_key, namespace, name, owner, groups FROM claims) AS c ON c.uid_key = v.claim_key
LEFT JOIN volume_uses AS u ON u.volume_key = v.uid_key
WHERE v.gone = last.gone
  AND v.reclaim_policy = 'Retain'
  AND v.deleted_at <= {until:DateTime64(6, 'UTC')}
  AND i.used_until <= v.deleted_at{{filter "v.cluster" "namespace" "owner" "groups" "v.storage_class"}}
ORDER BY deleted_at, cluster, persistentvolume, v.uid
LIMIT {limit:UInt64}
