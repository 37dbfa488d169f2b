-- The claims that exist and that no container has ever mounted, as far as is known, oldest first. A mount that came and
-- went while nobody watched is not known; the condition Unused of the claim tells of its end (unused_since).
-- Most claims have a volume of their own that was used, so only the mounts of the others are read, by their key. A use of a
-- volume since it was bound to its claim was a use of that claim, also if the mounts have expired since.
WITH
candidates AS
(
    SELECT cluster, namespace, name, uid
    FROM claims
    WHERE deleted_at IS NULL
      AND (volume_uid = '' OR (cluster, volume_uid) NOT IN
          (
              SELECT cluster, volume_uid FROM volume_uses WHERE in_use OR last_ended_at IS NOT NULL
              EXCEPT
              SELECT cluster, volume_uid FROM bindings GROUP BY cluster, volume_uid HAVING uniqExact(claim_uid) > 1
          ))
      AND (cluster, uid) NOT IN
          (
              SELECT b.cluster, b.claim_uid
              FROM (SELECT cluster, claim_uid, volume_uid, bound_at FROM bindings WHERE released_at IS NULL) AS b
              INNER JOIN volume_uses AS u ON u.cluster = b.cluster AND u.volume_uid = b.volume_uid
              WHERE u.last_ended_at > b.bound_at
          )
)
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
  AND (cluster, uid) IN (SELECT cluster, uid FROM candidates)
  AND (cluster, uid) NOT IN
      (SELECT cluster, claim_uid FROM mounts WHERE claim_uid != '' AND (cluster, namespace, claim_name) IN (SELECT cluster, namespace, name FROM candidates))
ORDER BY created_at, cluster, namespace, claim
LIMIT {limit:UInt64}
