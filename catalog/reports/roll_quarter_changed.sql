-- How many mounts of a cluster's pods that were created in one quarter were written after a version, by namespace.
SELECT toString(namespace) AS namespace, count() AS mounts
FROM mounts
WHERE cluster = {cluster:String} AND version > {after:UInt64} AND {{template "of_quarter.sql" "pod_created_at"}}
GROUP BY namespace
ORDER BY namespace
