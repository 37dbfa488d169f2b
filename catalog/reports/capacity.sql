-- How much each storage class could still provision, as its CSI driver had said last by a moment. A part of the storage that
-- its driver no longer offers keeps its last row.
SELECT
    cluster,
    storage_class,
    driver,
    topology,
    capacity_bytes,
    nullIf(maximum_volume_bytes, 0) AS maximum_volume_bytes,
    at AS reported_at
FROM
(
    SELECT *
    FROM storage_capacity
    WHERE true{{filter "cluster" "storage_class"}}
      AND at <= {until:DateTime64(6, 'UTC')}
    ORDER BY at DESC, resource_version DESC
    LIMIT 1 BY cluster, storage_class, topology -- an object that was made anew has another UID
)
ORDER BY cluster, storage_class, topology, uid
LIMIT {limit:UInt64}
