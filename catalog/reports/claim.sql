-- The life of a claim, or of all claims that had a name in turn: which volumes they had, who mounted them, and what changed while
-- they had them.
WITH
(
    SELECT groupUniqArray((cluster, namespace, uid, name)) FROM
    (
        SELECT cluster, namespace, uid, name FROM claims WHERE uid = {claim:String}
        UNION ALL
        SELECT cluster, namespace, uid, name FROM claims WHERE {{template "claim_named.sql" "{claim:String}"}}
        UNION ALL
        -- The claim may have been gone before the first tracker came.
        SELECT cluster, namespace, uid, name FROM
        (
            SELECT cluster, namespace, claim_uid AS uid, claim_name AS name FROM bindings
            UNION ALL
            SELECT cluster, claim_namespace, claim_uid, claim_name FROM volumes WHERE claim_uid != ''
        )
        WHERE uid = {claim:String} OR {{template "claim_named.sql" "{claim:String}"}}
    )
    WHERE true{{filter "cluster"}}
) AS claim_ids,
(
    SELECT groupUniqArray((cluster, claim_uid, volume_uid)) FROM bindings
    WHERE (cluster, namespace) IN (SELECT cluster, namespace FROM its_claims) AND claim_key IN (SELECT {{key "cluster, uid"}} FROM its_claims)
) AS binding_ids,
-- The volumes, and when the claims had each: what happens to it under another claim is not of their life. Nobody knows since when they
-- have a volume without a binding.
(
    SELECT groupArray((cluster, uid, stays)) FROM
    (
        SELECT cluster, uid, groupArrayArray(stays) AS stays FROM
        (
            SELECT cluster, volume_uid AS uid, [(ifNull(bound_at, toDateTime64(0, 6, 'UTC')), ifNull(released_at, toDateTime64('2299-12-31 23:59:59', 6, 'UTC')))] AS stays
            FROM bindings FINAL
            PREWHERE (cluster, namespace) IN (SELECT cluster, namespace FROM its_claims) AND claim_key IN (SELECT {{key "cluster, uid"}} FROM its_claims)
            UNION ALL
            SELECT cluster, uid, [] FROM volumes FINAL WHERE claim_key IN (SELECT {{key "cluster, uid"}} FROM its_claims)
            UNION ALL
            SELECT cluster, volume_uid, [] FROM claims FINAL WHERE volume_uid != '' AND (cluster, namespace, uid) IN (SELECT cluster, namespace, uid FROM its_claims)
        )
        GROUP BY cluster, uid
    )
) AS volume_ids,
CAST([], 'Array(Tuple(String, String, DateTime64(6), String))') AS pod_ids,
(
    SELECT groupUniqArray((cluster, namespace, claim_name, pod_created_at, pod_uid)) FROM mounts FINAL
    WHERE (cluster, namespace, claim_name) IN (SELECT cluster, namespace, name FROM its_claims)
      AND (cluster, claim_uid) IN (SELECT cluster, uid FROM its_claims)
) AS mount_ids,
{{template "timeline.sql"}}
