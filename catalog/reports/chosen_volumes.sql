{{- /* Included by space_parts.sql and idle_candidates.sql: the keys of the volumes that the claims have or had which the flags choose. */ -}}
(
    SELECT groupUniqArray(volume)
    FROM
    (
        SELECT volume_key AS volume FROM bindings
        WHERE claim_key IN ({{template "chosen_claims.sql"}})
{{- if given "namespace"}}
        UNION ALL
        SELECT uid_key FROM volumes FINAL WHERE claim_namespace = {namespace:String}
{{- end}}
    )
) AS volume_keys,
