-- How much each storage class can still provision for each part of the cluster, as its CSI driver had said last by a moment.
-- A part has no row if its driver then said no amount, or no longer. Of two objects for the same part (a driver may leave one
-- behind) the larger counts, as it does for the scheduler.
SELECT
    cluster,
    storage_class,
    last.1 AS driver,
    topology,
    last.2 AS capacity_bytes,
    nullIf(last.3, 0) AS maximum_volume_bytes,
    reported_at
FROM
(
    SELECT
        cluster, storage_class, topology, uid,
        argMax((driver, capacity_bytes, maximum_volume_bytes), at) AS last, -- argMax passes over NULL, but not over a tuple
        max(at) AS reported_at
    FROM storage_capacity
    WHERE true{{filter "cluster" "storage_class"}}
      AND at <= {until:DateTime64(6, 'UTC')}
    GROUP BY cluster, storage_class, topology, uid
)
WHERE last.2 IS NOT NULL
ORDER BY cluster, storage_class, topology, capacity_bytes DESC, uid
LIMIT 1 BY cluster, storage_class, topology
LIMIT {limit:UInt64}
