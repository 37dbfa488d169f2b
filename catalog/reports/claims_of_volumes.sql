-- Included by other reports: the names of the claims that have or had the volumes which {volume} names, by which the
-- mounts of these volumes are found by their key.
SELECT cluster, namespace, name FROM claims FINAL
WHERE (cluster, uid) IN (SELECT cluster, claim_uid FROM bindings FINAL WHERE (cluster, volume_uid) IN ({{template "named_volumes.sql"}}))
   OR (cluster, volume_uid) IN ({{template "named_volumes.sql"}})
