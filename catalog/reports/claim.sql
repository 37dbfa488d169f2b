-- The life of a claim, or of all claims that had a name in turn: which volumes they had, who mounted them, and what changed.
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
(
    SELECT groupUniqArray((cluster, uid)) FROM
    (
        SELECT cluster, volume_uid AS uid FROM its_bindings
        UNION ALL
        SELECT cluster, uid FROM volumes FINAL WHERE claim_key IN (SELECT {{key "cluster, uid"}} FROM its_claims)
        UNION ALL
        SELECT cluster, volume_uid FROM claims FINAL WHERE volume_uid != '' AND (cluster, namespace, uid) IN (SELECT cluster, namespace, uid FROM its_claims)
    )
) AS volume_ids,
CAST([], 'Array(Tuple(String, String, DateTime64(6), String))') AS pod_ids,
(
    SELECT groupUniqArray((cluster, namespace, claim_name, pod_created_at, pod_uid)) FROM mounts FINAL
    WHERE (cluster, namespace, claim_name) IN (SELECT cluster, namespace, name FROM its_claims)
      AND (cluster, claim_uid) IN (SELECT cluster, uid FROM its_claims)
) AS mount_ids,
{{template "timeline.sql"}}
