-- Sums up the mounts of a cluster's pods that were created in one quarter, for mounts_quarterly: in some namespaces,
-- all claims, or those with a mount that was written after a version. Rows of the table that are no longer right become
-- zero.
INSERT INTO mounts_quarterly
WITH
changed AS
(
    SELECT DISTINCT cluster, namespace, claim_name
    FROM mounts
    WHERE {after:UInt64} != 0 AND {{template "roll_quarter_filter.sql"}} AND version > {after:UInt64}
      AND {{template "of_quarter.sql" "pod_created_at"}}
),
sums AS
(
    SELECT
        cluster, namespace, claim_name, claim_uid, volume_uid, source_kind, source_id, workload_kind, workload_name, owner, groups,
        uniqExactStateIf(pod, is_mount) AS pods_then,
        groupUniqArrayIf(node, is_mount) AS nodes,
        minIf(started_at, is_mount) AS first_started_at,
        maxIf(started_at, is_mount) AS last_started_at,
        minIf(ended_at, is_mount) AS first_ended_at,
        if(countIf(is_mount AND ended_at IS NULL) > 0, NULL, maxIf(ended_at, is_mount)) AS last_ended_at
    FROM
    (
        SELECT
            cluster, namespace, claim_name, claim_uid, volume_uid, source_kind, source_id, workload_kind, workload_name, owner, groups,
            true AS is_mount, {{template "pod_hash.sql"}} AS pod, node, started_at, ended_at
        FROM mounts FINAL
        WHERE {{template "roll_quarter_filter.sql"}}
          AND {{template "of_quarter.sql" "pod_created_at"}}
          AND ({after:UInt64} = 0 OR (cluster, namespace, claim_name) IN (SELECT * FROM changed))
        UNION ALL
        -- A row of the table that has no mounts any more gets one that does not count, so that it becomes zero.
        SELECT
            cluster, namespace, claim_name, claim_uid, volume_uid, source_kind, source_id, workload_kind, workload_name, owner, groups,
            false, 0, toLowCardinality(''), first_started_at, first_ended_at
        FROM mounts_quarterly FINAL
        WHERE {{template "roll_quarter_filter.sql"}} AND quarter = {quarter:Date} AND until = {end:Date} AND ({after:UInt64} = 0 OR (cluster, namespace, claim_name) IN (SELECT * FROM changed))
    )
    GROUP BY cluster, namespace, claim_name, claim_uid, volume_uid, source_kind, source_id, workload_kind, workload_name, owner, groups
)
SELECT
    cluster,
    namespace,
    claim_name,
    claim_uid,
    volume_uid,
    source_kind,
    source_id,
    workload_kind,
    workload_name,
    owner,
    groups,
    {quarter:Date} AS quarter,
    {end:Date} AS until,
    toUInt32(finalizeAggregation(pods_then)) AS pods,
    nodes,
    -- This compares all rows of a store, because its pods are in one namespace and name it by one claim, or by none. A
    -- mount that was written before its volume was known belongs to the volume of its claim, which other rows may have:
    -- it is never apart.
    (volume_uid != '' OR claim_uid = '') AND sum(finalizeAggregation(pods_then)) OVER same_store = uniqExactMerge(pods_then) OVER same_store AS apart,
    first_started_at,
    last_started_at,
    first_ended_at,
    last_ended_at,
    {version:UInt64} AS version
FROM sums
WINDOW same_store AS (PARTITION BY namespace, volume_uid, if(volume_uid = '', (source_kind, source_id), ('', '')))
