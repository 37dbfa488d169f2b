-- Which claim had which volume, at a moment or in a window. A binding that lasts has no end.
-- Each table that needs FINAL has it.
WITH
{{template "claims_of_workload.sql"}}
chosen AS
(
    SELECT *, claim_key, volume_key
    FROM bindings FINAL
{{- if given "owner" "group" "workload"}}
    PREWHERE claim_key IN ({{template "chosen_claims.sql"}}) -- of the sorting key alone: FINAL merges fewer rows
{{- end}}
    WHERE {{template "in_namespaces.sql"}}
      AND (bound_at IS NULL OR bound_at <= {until:DateTime64(6, 'UTC')})
      AND (released_at IS NULL OR released_at > {since:DateTime64(6, 'UTC')})
)
SELECT
    b.cluster AS cluster,
    b.namespace AS namespace,
    b.claim_name AS claim,
    v.name AS persistentvolume,
    if(v.storage_class != '', v.storage_class, c.storage_class) AS storage_class,
    c.owner AS owner,
    c.groups AS groups,
    b.bound_at AS bound_at,
    b.released_at AS released_at,
    if(b.released_not_before = b.released_at, NULL, b.released_not_before) AS released_not_before,
    if(b.bound_at IS NULL, NULL, greatest(0, dateDiff('second', b.bound_at, coalesce(b.released_at, {now:DateTime64(6, 'UTC')})))) AS lasted_seconds
FROM chosen AS b
LEFT JOIN
(
    SELECT uid_key, storage_class, owner, groups, created_at FROM claims AS c FINAL WHERE {{template "claim_filter.sql"}}
) AS c ON c.uid_key = b.claim_key
LEFT JOIN
(
    SELECT uid_key, name, storage_class, created_at FROM volumes FINAL
{{- if given "namespace" "owner" "group"}}
    PREWHERE uid_key IN (SELECT volume_key FROM chosen)
{{- end}}
) AS v ON v.uid_key = b.volume_key
WHERE {{template "both_existed.sql"}}{{filter "storage_class"}}
ORDER BY bound_at DESC, cluster, namespace, claim, persistentvolume, b.ordinal
LIMIT {limit:UInt64}
