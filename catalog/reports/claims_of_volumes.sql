-- Included by other reports: the names of the claims that have or had the volumes that {volume} names. The primary key of mounts
-- begins with the names of claims, so it finds the mounts of these volumes.
SELECT cluster, namespace, name FROM claims FINAL
WHERE (cluster, uid) IN (SELECT cluster, claim_uid FROM bindings FINAL WHERE (cluster, volume_uid) IN ({{template "named_volumes.sql"}}))
   OR (cluster, volume_uid) IN ({{template "named_volumes.sql"}})
