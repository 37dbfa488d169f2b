-- The most that was ever used of each volume that exists, in the window, against its size, and a size for the next claim: the most
-- that was used, plus headroom, rounded up to whole GiB. The row of usage before the window is valid at its beginning.
-- A directory on a shared file system, as NFS has them, reports all of that file system, so the most used may be more than the size.
-- Bytes are multiplied as Int128, because 100 times 8Ei does not fit into an Int64.
-- Each table that needs FINAL has it. A row of usage that is written twice changes nothing.
WITH
{{template "claims_of_workload.sql"}}
picked AS
(
    SELECT cluster, uid, uid_key, claim_key, name, storage_class, capacity_bytes, {{template "named_claim.sql"}}
    FROM volumes FINAL
    WHERE deleted_at IS NULL{{filter "cluster"}}
      AND {{template "volume_filter.sql"}}
),
{{if given "namespace" "owner" "group" "storageclass" "workload"}}
(SELECT groupArray(uid_key) FROM picked) AS volume_keys,
{{end}}
most AS
(
    SELECT
        cluster, volume_uid,
        if(before.1 AND (NOT inside.1 OR before.2 >= inside.2), before, inside) AS found,
        found.2 AS max_used_bytes,
        found.3 AS max_used_at
    FROM
    (
        SELECT
            cluster, volume_uid,
            argMaxIf((true, used_bytes, at), at, at <= {since:DateTime64(6, 'UTC')}) AS before,
            argMaxIf((true, used_bytes, at), (used_bytes, -toUnixTimestamp64Micro(at)), at > {since:DateTime64(6, 'UTC')}) AS inside
        FROM usage
        WHERE at <= {until:DateTime64(6, 'UTC')}{{filter "cluster"}}
{{- if given "namespace" "owner" "group" "storageclass" "workload"}}
          AND {{template "namespaces_of_volumes.sql" "volume_keys"}}
{{- end}}
        GROUP BY cluster, volume_uid
    )
)
SELECT
    v.cluster AS cluster,
    v.name AS persistentvolume,
    {{template "claim_or_named.sql" "v"}},
    v.storage_class AS storage_class,
    m.max_used_bytes AS max_used_bytes,
    m.max_used_at AS max_used_at,
    v.capacity_bytes AS capacity_bytes,
    c.requested_bytes AS requested_bytes,
    if(v.capacity_bytes > 0, round(100. * m.max_used_bytes / v.capacity_bytes, 1), NULL) AS used_percent,
    -- rounded up: at least one GiB
    greatest(toInt128(1), intDiv(toInt128(m.max_used_bytes) * toInt128(100 + {headroom:UInt64}) + toInt128(107374182399), toInt128(107374182400))) * toInt128(1073741824) AS advised_bytes,
    toInt128(v.capacity_bytes) - advised_bytes AS spare_bytes
FROM picked AS v
INNER JOIN (SELECT cluster, volume_uid, max_used_bytes, max_used_at FROM most) AS m ON {{key "m.cluster, m.volume_uid"}} = v.uid_key
LEFT JOIN (SELECT uid_key, namespace, name, requested_bytes FROM claims AS c FINAL WHERE {{template "claim_filter.sql"}}) AS c ON c.uid_key = v.claim_key
ORDER BY spare_bytes DESC, cluster, persistentvolume, v.uid
LIMIT {limit:UInt64}
