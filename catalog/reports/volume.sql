-- The life of a volume: when it existed, which claims had it, who mounted it, on which nodes it was attached, and what changed.
WITH
(
    SELECT groupArray((cluster, uid, CAST([], 'Array(Tuple(DateTime64(6), DateTime64(6)))'))) FROM ({{template "named_volumes.sql"}}) WHERE true{{filter "cluster"}}
) AS volume_ids,
(
    SELECT groupUniqArray((cluster, claim_uid, volume_uid)) FROM bindings
    WHERE volume_uid IN (SELECT uid FROM its_volumes) AND (cluster, volume_uid) IN (SELECT cluster, uid FROM its_volumes)
) AS binding_ids,
(
    SELECT groupUniqArray((cluster, namespace, uid, name)) FROM
    (
        SELECT cluster, namespace, claim_uid AS uid, claim_name AS name FROM bindings
        WHERE volume_uid IN (SELECT uid FROM its_volumes) AND (cluster, volume_uid) IN (SELECT cluster, uid FROM its_volumes)
        UNION ALL
        SELECT cluster, namespace, uid, name FROM claims FINAL
        WHERE (cluster, namespace, uid) IN (SELECT cluster, namespace, uid FROM claims WHERE volume_uid IN (SELECT uid FROM its_volumes))
          AND (cluster, volume_uid) IN (SELECT cluster, uid FROM its_volumes)
    )
) AS claim_ids,
CAST([], 'Array(Tuple(String, String, DateTime64(6), String))') AS pod_ids,
-- A mount that was written before its volume was known has the volume of its claim.
(
    SELECT groupUniqArray((cluster, namespace, claim_name, pod_created_at, pod_uid)) FROM mounts FINAL
    WHERE (cluster, namespace, claim_name) IN (SELECT cluster, namespace, name FROM its_claims)
      AND ((cluster, volume_uid) IN (SELECT cluster, uid FROM its_volumes)
           OR volume_uid = '' AND (cluster, claim_uid) IN
              (SELECT cluster, uid FROM claims FINAL WHERE (cluster, namespace, uid) IN (SELECT cluster, namespace, uid FROM its_claims)
                 AND (cluster, volume_uid) IN (SELECT cluster, uid FROM its_volumes)))
) AS mount_ids,
{{template "timeline.sql"}}
