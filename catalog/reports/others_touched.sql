{{- /* Included by history-found.sql and pods-per-volume-found.sql, behind the array others_found: the claims and
backing stores of the mounts and sums; none if the array is empty. */ -}}
    SELECT cluster, namespace, claim_name, claim_uid, source_kind, source_id FROM touched WHERE notEmpty(others_found)
{{- if quarters .}}
{{- range changedParts}}
    UNION ALL
    SELECT cluster, namespace, claim_name, claim_uid, source_kind, source_id FROM mounts
    WHERE notEmpty(others_found) AND {{template "uses_filter.sql" $}} AND {{template "in_changed.sql" (print $ " " .)}}
{{- end}}
    UNION ALL
    SELECT cluster, namespace, claim_name, claim_uid, source_kind, source_id FROM mounts_quarterly
    WHERE notEmpty(others_found) AND {{template "summed_rows.sql"}} AND {{template "in_namespaces.sql"}}
{{- end}}
