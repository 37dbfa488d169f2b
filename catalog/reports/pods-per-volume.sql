-- How many pods used each volume, at a moment or in a window, most first.
WITH
{{template "uses.sql" .}}
SELECT
    cluster,
    persistentvolume,
    arraySort(groupUniqArray(concat(namespace, '/', claim))) AS claims,
    storage_class,
    uniqExact(pod_uid) AS pods,
    arraySort(groupUniqArray(node)) AS nodes,
    arraySort(groupUniqArray(workload)) AS workloads
FROM uses
WHERE volume_uid != ''
GROUP BY cluster, volume_uid, persistentvolume, storage_class
ORDER BY pods DESC, cluster, persistentvolume, volume_uid
LIMIT {limit:UInt64}
