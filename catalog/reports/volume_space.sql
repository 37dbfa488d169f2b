-- Included by other reports: per volume, how much of it was used when a kubelet looked last.
SELECT cluster, volume_uid, toNullable(argMax(used_bytes, at)) AS used_bytes
FROM usage
GROUP BY cluster, volume_uid
