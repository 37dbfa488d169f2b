-- The claims that exist and that no container has ever mounted, as far as is known, oldest first. A mount that came and
-- went while nobody watched is not known; the condition Unused of the claim tells of its end (unused_since).
SELECT
    cluster,
    namespace,
    name AS claim,
    phase,
    volume_name AS persistentvolume,
    storage_class,
    owner,
    groups,
    requested_bytes,
    created_at,
    greatest(0, dateDiff('second', created_at, {now:DateTime64(6, 'UTC')})) AS age_seconds,
    unused_since
FROM claims
WHERE deleted_at IS NULL
  AND ({cluster:String} = '' OR cluster = {cluster:String})
  AND ({namespace:String} = '' OR namespace = {namespace:String})
  AND ({owner:String} = '' OR owner = {owner:String})
  AND ({group:String} = '' OR has(groups, {group:String}))
  AND ({storageclass:String} = '' OR storage_class = {storageclass:String})
  AND (cluster, uid) NOT IN (SELECT cluster, claim_uid FROM mounts WHERE claim_uid != '')
ORDER BY created_at, cluster, namespace, claim
LIMIT {limit:UInt64}
