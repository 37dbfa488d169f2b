{{- /* Included by orphans.sql and never-mounted.sql: two arrays for lost_uses.sql. A Lost claim can get another volume. */ -}}
-- The volumes that existing claims have lost, with the times of these bindings.
(
    SELECT groupArray((claim_key, volume_key, bound_at, released_at)) FROM bindings FINAL
    PREWHERE claim_key IN
             (
                 SELECT uid_key FROM claims AS c FINAL
                 PREWHERE uid_key IN (SELECT claim_key FROM bindings WHERE released_at IS NOT NULL AND {{template "in_namespaces.sql"}})
                 WHERE deleted_at IS NULL AND {{template "claim_filter.sql"}}
             )
    WHERE released_at IS NOT NULL
) AS lost_volumes,
-- The claims that had these volumes last.
(
    SELECT groupArray((volume_key, last_claim))
    FROM
    (
        SELECT volume_key, argMax(claim_key, (coalesce(bound_at, released_at), ordinal)) AS last_claim
        FROM bindings FINAL
        PREWHERE volume_key IN (SELECT lost.2 FROM (SELECT arrayJoin(lost_volumes) AS lost))
        GROUP BY volume_key
    )
) AS last_claims,
