-- The life of a volume: when it existed, which claims had it, who mounted it, on which nodes it was attached, and what changed.
WITH
its_volumes AS
(
    SELECT cluster, uid FROM ({{template "named_volumes.sql"}})
    WHERE {cluster:String} = '' OR cluster = {cluster:String}
),
its_bindings AS
(
    SELECT cluster, claim_uid, volume_uid FROM bindings WHERE (cluster, volume_uid) IN (SELECT cluster, uid FROM its_volumes)
),
its_claims AS
(
    SELECT cluster, claim_uid AS uid FROM its_bindings
    UNION DISTINCT
    SELECT cluster, uid FROM claims WHERE (cluster, volume_uid) IN (SELECT cluster, uid FROM its_volumes)
),
its_pods AS
(
    SELECT cluster, namespace, created_at, uid FROM pods WHERE 0
),
its_mounts AS
(
    SELECT * FROM mounts
    WHERE (cluster, namespace, claim_name) IN (SELECT cluster, namespace, name FROM claims WHERE (cluster, uid) IN (SELECT cluster, uid FROM its_claims))
      AND ((cluster, volume_uid) IN (SELECT cluster, uid FROM its_volumes)
           OR volume_uid = '' AND (cluster, claim_uid) IN
              (SELECT cluster, uid FROM claims WHERE (cluster, volume_uid) IN (SELECT cluster, uid FROM its_volumes)))
),
{{template "timeline.sql"}}
