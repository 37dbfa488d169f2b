-- How long volumes, claims and mounts lasted that ended in a window, by storage class. An end that nobody observed counts at the
-- latest moment at which it can have been. A volume has the namespace, the owner and the groups of its last claim; a mount has those of its
-- pod, or of its claim, and the storage class of the claim.
WITH
{since:DateTime64(6, 'UTC')} AS since,
{until:DateTime64(6, 'UTC')} AS until,
claims_there AS (SELECT cluster, uid_key, storage_class, owner, groups, created_at, deleted_at FROM claims WHERE {{template "in_namespaces.sql"}}),
chosen AS (SELECT cluster, uid_key, storage_class, created_at, deleted_at FROM claims_there WHERE true{{filter "owner" "groups"}}),
-- The report may read all mounts. A duration of 32 bits, at most 136 years, takes half of the memory.
(began, ended) -> toUInt32(least(4294967295, greatest(0, dateDiff('second', assumeNotNull(began), assumeNotNull(ended))))) AS lasted
SELECT cluster, kind, storage_class, ended, shortest_seconds, median_seconds, longest_seconds
FROM
(
    SELECT cluster, 'PersistentVolume' AS kind, storage_class, {{template "lasted.sql"}}
    FROM
    (
        SELECT cluster, storage_class, lasted(created_at, deleted_at) AS seconds
        FROM volumes
        WHERE created_at IS NOT NULL AND deleted_at >= since AND deleted_at <= until
{{- if given "namespace" "owner" "group"}}
          AND ({{if not (given "owner" "group")}}claim_uid != '' AND claim_namespace = {namespace:String} OR {{end}}claim_key IN (SELECT uid_key FROM chosen))
{{- end}}
    )
    GROUP BY cluster, storage_class
    UNION ALL
    SELECT cluster, 'PersistentVolumeClaim', storage_class, {{template "lasted.sql"}}
    FROM
    (
        SELECT cluster, storage_class, lasted(created_at, deleted_at) AS seconds
        FROM chosen
        WHERE created_at IS NOT NULL AND deleted_at >= since AND deleted_at <= until
    )
    GROUP BY cluster, storage_class
    UNION ALL
    SELECT m.cluster, 'mount', k.storage_class, m.ended, m.shortest_seconds, m.median_seconds, m.longest_seconds
    FROM
    (
        SELECT if(c.class != 0, c.class, cityHash64(m.cluster, '')) AS class, any(m.cluster) AS cluster, {{template "lasted.sql"}}
        FROM
        (
            SELECT cluster, cityHash64(cluster, claim_uid) AS claim, lasted(started_at, ended_at) AS seconds
            FROM mounts
            WHERE {{template "in_namespaces.sql"}} AND claim_uid != '' AND ended_at >= since AND ended_at <= until
              AND {{template "whose.sql"}}
        ) AS m
        -- Claims and classes are compared by hashes of 64 bits; grouping by cluster and class takes twice as long. Two of a million
        -- claims have the same hash with a chance of 1 in 30 million; then the mounts of one count for the class of the other.
        LEFT ANY JOIN (SELECT {{template "half_key.sql" "uid_key"}} AS claim, cityHash64(cluster, storage_class) AS class FROM claims_there) AS c ON c.claim = m.claim
        GROUP BY class
    ) AS m
    LEFT JOIN (SELECT DISTINCT cityHash64(cluster, storage_class) AS class, storage_class FROM claims_there) AS k ON k.class = m.class
)
WHERE true{{filter "cluster" "storage_class"}}
ORDER BY cluster, kind = 'mount', kind, storage_class
LIMIT {limit:UInt64}
