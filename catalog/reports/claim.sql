-- The life of a claim, or of all claims that had a name in turn: which volumes they had, who mounted them, and what changed.
WITH
its_claims AS
(
    SELECT cluster, uid FROM claims
    WHERE ({cluster:String} = '' OR cluster = {cluster:String})
      AND (uid = {claim:String} OR {{template "claim_named.sql" "{claim:String}"}})
),
its_bindings AS
(
    SELECT cluster, claim_uid, volume_uid FROM bindings WHERE (cluster, claim_uid) IN (SELECT cluster, uid FROM its_claims)
),
its_volumes AS
(
    SELECT cluster, volume_uid AS uid FROM its_bindings
    UNION DISTINCT
    SELECT cluster, volume_uid FROM claims WHERE volume_uid != '' AND (cluster, uid) IN (SELECT cluster, uid FROM its_claims)
),
its_pods AS
(
    SELECT cluster, namespace, created_at, uid FROM pods WHERE 0
),
its_mounts AS
(
    SELECT * FROM mounts
    WHERE (cluster, namespace, claim_name) IN (SELECT cluster, namespace, name FROM claims WHERE (cluster, uid) IN (SELECT cluster, uid FROM its_claims))
      AND (cluster, claim_uid) IN (SELECT cluster, uid FROM its_claims)
),
{{template "timeline.sql"}}
