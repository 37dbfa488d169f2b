-- Included by other reports: the volumes that {volume} names, by name, UID, volume handle, or as NAMESPACE/CLAIM.
-- The name of a claim stands for each volume that a claim of that name has had.
SELECT cluster, uid FROM volumes WHERE name = {volume:String} OR uid = {volume:String} OR volume_handle = {volume:String}
UNION DISTINCT
SELECT cluster, volume_uid FROM bindings
WHERE (cluster, claim_uid) IN (SELECT cluster, uid FROM claims WHERE concat(namespace, '/', name) = {volume:String})
UNION DISTINCT
SELECT cluster, volume_uid FROM claims WHERE concat(namespace, '/', name) = {volume:String} AND volume_uid != ''
