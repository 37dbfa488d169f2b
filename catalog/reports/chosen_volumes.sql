{{- /* Included by space_parts.sql, idle_candidates.sql and namespaces.sql: the array volume_keys, of the volumes that the selected
claims have or had, perhaps with others: without FINAL, which takes as long as the rest, a replaced row counts, too. A volume without a
binding counts for the claim that it refers to.
identity keeps ClickHouse from comparing the claims with the primary key of bindings, which takes longer than to read all of it. */ -}}
(
    SELECT groupUniqArray(volume)
    FROM
    (
        SELECT volume_key AS volume, identity(claim_key) AS claim_key FROM bindings WHERE {{template "in_namespaces.sql"}}
        UNION ALL
        SELECT uid_key, claim_key FROM (SELECT cluster, claim_namespace AS namespace, uid_key, claim_key FROM volumes) WHERE {{template "in_namespaces.sql"}}
    )
{{- if given "owner" "group"}}
    WHERE claim_key IN (SELECT uid_key FROM claims AS c WHERE {{template "claim_filter.sql"}})
{{- end}}
) AS volume_keys,
