-- The claims that exist and that no container has ever mounted, as far as is known, oldest first. A mount that came and
-- went while nobody watched is not known; the condition Unused of the claim tells of its end (unused_since).
-- Whether a volume was ever used is kept, and says all of a claim that alone has had it. Only the mounts of the other claims are
-- read, by their key; and a use of a volume since it was bound to its claim was a use of that claim, also if the mounts have
-- expired since.
WITH
chosen AS
(
    SELECT cluster, namespace, name, uid, volume_uid
    FROM claims AS c FINAL
    WHERE deleted_at IS NULL{{filter "cluster"}}
      AND {{template "claim_filter.sql"}}{{filter "storage_class"}}
),
(
    SELECT groupArray((cluster, volume_uid))
    FROM (SELECT cluster, volume_uid FROM bindings GROUP BY cluster, volume_uid HAVING uniqExact(claim_uid) > 1)
) AS shared_volumes,
(
    SELECT groupArray((cluster, namespace, name, uid)) FROM chosen
    WHERE (volume_uid = '' OR (cluster, volume_uid) IN (SELECT v.1, v.2 FROM (SELECT arrayJoin(shared_volumes) AS v)))
      AND (cluster, uid) NOT IN
          (
              SELECT b.cluster, b.claim_uid
              FROM
              (
                  SELECT cluster, claim_uid, volume_uid, bound_at
                  FROM bindings FINAL
                  WHERE released_at IS NULL AND (cluster, volume_uid) IN (SELECT v.1, v.2 FROM (SELECT arrayJoin(shared_volumes) AS v))
              ) AS b
              INNER JOIN
              (
                  SELECT cluster, volume_uid, last_ended_at
                  FROM volume_uses FINAL
                  WHERE (cluster, volume_uid) IN (SELECT v.1, v.2 FROM (SELECT arrayJoin(shared_volumes) AS v))
              ) AS u ON u.cluster = b.cluster AND u.volume_uid = b.volume_uid
              WHERE u.last_ended_at > b.bound_at
          )
) AS undecided,
(
    SELECT groupUniqArray((cluster, claim_uid)) FROM mounts FINAL
    WHERE claim_uid != '' AND (cluster, namespace, claim_name) IN (SELECT c.1, c.2, c.3 FROM (SELECT arrayJoin(undecided) AS c))
) AS mounted
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
FROM claims AS c FINAL
WHERE deleted_at IS NULL{{filter "cluster"}}
  AND {{template "claim_filter.sql"}}{{filter "storage_class"}}
  AND if((cluster, uid) IN (SELECT c.1, c.4 FROM (SELECT arrayJoin(undecided) AS c)),
      (cluster, uid) NOT IN (SELECT m.1, m.2 FROM (SELECT arrayJoin(mounted) AS m)),
      (cluster, volume_uid) NOT IN
      (
          SELECT cluster, volume_uid FROM volume_uses FINAL
          WHERE (in_use OR last_ended_at IS NOT NULL) AND (cluster, volume_uid) IN (SELECT cluster, volume_uid FROM chosen)
      ))
ORDER BY created_at, cluster, namespace, claim
LIMIT {limit:UInt64}
