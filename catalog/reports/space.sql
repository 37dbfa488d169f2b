-- Space by namespace, owner, group or storage class. Claims count by the size they request. Bound and
-- released volumes count by their capacity, for the namespace and the owner of their claim. The idle
-- part of the capacity is that of volumes that nobody uses, as in the report idle. The used bytes are
-- those of volumes that a kubelet has measured, NULL if there are none.
-- A claim of several groups counts for each of them, a claim of none under the empty name.
-- Bytes are added up as Int128, because two claims of 8Ei do not fit into an Int64.
SELECT
    cluster,
    {{template "space_by.sql"}} AS "group",
    sum(claim) AS claims,
    sum(bound) AS bound_volumes,
    sum(released) AS released_volumes,
    sum(toInt128(requested)) AS requested_bytes,
    sum(toInt128(capacity)) AS capacity_bytes,
    sum(toInt128(idle)) AS idle_bytes,
    sum(toInt128(used)) AS used_bytes
FROM
(
    SELECT
        cluster, namespace, owner, c.groups AS groups, storage_class,
        toInt64(1) AS claim,
        toInt64(0) AS bound,
        toInt64(0) AS released,
        requested_bytes AS requested,
        toInt64(0) AS capacity,
        toInt64(0) AS idle,
        CAST(NULL, 'Nullable(Int64)') AS used
    FROM claims AS c FINAL
    WHERE deleted_at IS NULL{{filter "cluster"}}
      AND {{template "claim_filter.sql"}}{{filter "storage_class"}}
    UNION ALL
    SELECT
        s.cluster, s.claim_namespace, s.owner, s.groups, s.storage_class,
        toInt64(0),
        toInt64(s.phase = 'Bound'),
        toInt64(s.phase = 'Released'),
        toInt64(0),
        s.capacity_bytes,
        toInt64(if(s.status IN ('mounted', 'pending'), 0, s.capacity_bytes)),
        l.used_bytes
    FROM
    (
        SELECT cluster, volume_key, status, phase, claim_namespace, storage_class, owner, groups, capacity_bytes
        FROM volume_states FINAL
        WHERE status != 'deleted'
          AND phase IN ('Bound', 'Released'){{filter "cluster" "claim_namespace" "owner" "groups" "storage_class"}}
    ) AS s
    LEFT JOIN (SELECT volume_key, toNullable(used_bytes) AS used_bytes FROM last_usage FINAL) AS l ON l.volume_key = s.volume_key
)
GROUP BY cluster, "group"
ORDER BY capacity_bytes DESC, requested_bytes DESC, cluster, "group"
LIMIT {limit:UInt64}
