-- The claims that exist and that no container has ever mounted, as far as is known, oldest first. A mount that came and
-- went while nobody watched is not known; the condition Unused of the claim tells of its end (unused_since).
-- volume_uses says whether a volume was ever used, which is enough for a claim that alone has had its volume. The report reads the mounts
-- of the other claims only, by their key. A use of a volume since it was bound to its claim was a use of that claim, even if the mounts
-- have expired.
WITH
{{template "lost_volumes.sql"}}
chosen AS
(
    SELECT cluster, namespace, name, uid_key, volume_uid, volume_key
    FROM claims AS c FINAL
    WHERE deleted_at IS NULL{{filter "cluster"}}
      AND {{template "claim_filter.sql"}}{{filter "storage_class"}}
),
{{template "shared_volumes.sql" ""}}
(
    SELECT groupArray((cluster, namespace, name, uid_key)) FROM chosen
    WHERE (volume_uid = '' OR {{listed "volume_key" "shared_volumes"}})
      AND uid_key NOT IN
          (
              SELECT b.claim_key
              FROM
              (
                  SELECT claim_key, volume_key, bound_at
                  FROM bindings FINAL
                  PREWHERE {{listed "volume_key" "shared_volumes"}}
                  WHERE released_at IS NULL
              ) AS b
              INNER JOIN
              (
                  SELECT volume_key, in_use, last_ended_at
                  FROM volume_uses FINAL
                  PREWHERE {{listed "volume_key" "shared_volumes"}}
              ) AS u ON u.volume_key = b.volume_key
              WHERE u.in_use OR u.last_ended_at > b.bound_at
          )
) AS undecided,
(
    SELECT groupUniqArray({{key "cluster, claim_uid"}}) FROM mounts FINAL
    WHERE claim_uid != '' AND (cluster, namespace, claim_name) IN (SELECT c.1, c.2, c.3 FROM (SELECT arrayJoin(undecided) AS c))
) AS mounted
SELECT
    cluster,
    namespace,
    name AS claim,
    phase,
    if(phase = 'Pending', '', volume_name) AS persistentvolume, -- a claim may ask for a volume
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
  AND if(uid_key IN (SELECT c.4 FROM (SELECT arrayJoin(undecided) AS c)),
      NOT {{listed "uid_key" "mounted"}},
      volume_key NOT IN
      (
          SELECT volume_key FROM volume_uses FINAL
          PREWHERE volume_key IN (SELECT volume_key FROM chosen)
          WHERE in_use OR last_ended_at IS NOT NULL
      ))
  -- A claim may have lost its volume and got another one.
  AND uid_key NOT IN
      (
          SELECT claim_key FROM
          (
            {{template "lost_uses.sql"}}
          )
      )
ORDER BY created_at, cluster, namespace, claim
LIMIT {limit:UInt64}
