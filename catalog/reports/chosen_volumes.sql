{{- /* Included by space_parts.sql, idle_candidates.sql and namespaces.sql: the array volume_keys, of the volumes that the selected
claims have or had, perhaps with others: claims are read without FINAL, which takes as long as the rest, so a replaced row counts, too.
identity keeps ClickHouse from comparing the claims with the primary key, which takes longer than to read all of the namespaces. Nobody
looks at whose the claims are where all are theirs. */ -}}
(
    SELECT groupUniqArray(volume_key)
    FROM claimed_volumes
    WHERE {{template "in_namespaces.sql"}}
{{- if and (given "owner" "group") (not (given "all_theirs"))}}
      AND identity(claim_key) IN (SELECT uid_key FROM claims AS c WHERE {{template "claim_filter.sql"}})
{{- end}}
) AS volume_keys,
