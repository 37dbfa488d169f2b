-- Space by namespace or storage class. Claims count by what they ask for; volumes,
-- bound or released, by what they take, in the namespace of their claim. The idle
-- part of the capacity is that of volumes that nobody uses, as in the report idle. What is
-- used is known of volumes that a kubelet has looked at, and NULL if that is none.
-- Bytes are added up as Int128: two claims of 8Ei are more than an Int64 holds.
SELECT
    cluster,
    "group",
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
        cluster,
        toString(if({by:String} = 'namespace', namespace, storage_class)) AS "group",
        toInt64(1) AS claim,
        toInt64(0) AS bound,
        toInt64(0) AS released,
        requested_bytes AS requested,
        toInt64(0) AS capacity,
        toInt64(0) AS idle,
        CAST(NULL, 'Nullable(Int64)') AS used
    FROM claims FINAL
    WHERE deleted_at IS NULL
      AND ({cluster:String} = '' OR cluster = {cluster:String})
    UNION ALL
    SELECT
        v.cluster,
        toString(if({by:String} = 'namespace', v.claim_namespace, v.storage_class)),
        toInt64(0),
        toInt64(v.phase = 'Bound'),
        toInt64(v.phase = 'Released'),
        toInt64(0),
        v.capacity_bytes,
        toInt64(if((v.cluster, v.uid) IN (SELECT cluster, volume_uid FROM volume_uses FINAL WHERE in_use), 0, v.capacity_bytes)),
        s.used_bytes
    FROM
    (
        SELECT cluster, uid, phase, claim_namespace, storage_class, capacity_bytes
        FROM volumes FINAL
        WHERE deleted_at IS NULL
          AND phase IN ('Bound', 'Released')
          AND ({cluster:String} = '' OR cluster = {cluster:String})
    ) AS v
    LEFT JOIN (SELECT cluster, volume_uid, toNullable(used_bytes) AS used_bytes FROM last_usage FINAL) AS s ON s.cluster = v.cluster AND s.volume_uid = v.uid
)
GROUP BY cluster, "group"
ORDER BY capacity_bytes DESC, requested_bytes DESC, cluster, "group"
LIMIT {limit:UInt64}
