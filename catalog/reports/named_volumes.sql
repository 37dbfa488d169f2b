-- Included by other reports: the volumes that {volume} names, by name, UID, volume handle, or as NAMESPACE/CLAIM.
-- The name of a claim stands for each volume that a claim of that name has had.
SELECT cluster, uid FROM volumes FINAL WHERE name = {volume:String} OR uid = {volume:String} OR volume_handle = {volume:String}
UNION DISTINCT
SELECT cluster, volume_uid FROM bindings FINAL
WHERE (cluster, claim_uid) IN (SELECT cluster, uid FROM claims FINAL WHERE {{template "claim_named.sql" "{volume:String}"}})
UNION DISTINCT
SELECT cluster, volume_uid FROM claims FINAL WHERE {{template "claim_named.sql" "{volume:String}"}} AND volume_uid != ''
