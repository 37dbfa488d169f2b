{{- /* Included by at.sql, idle_candidates.sql and space_parts.sql, behind the array volume_keys: the array volume_namespaces, of all claims
that these volumes have or had; nothing if namespaces.sql has found them, or more. */ -}}
{{if not (given "volume_namespaces")}}
(
    SELECT groupUniqArray((cluster, namespace))
    FROM
    (
        {{template "claim_namespaces.sql" "volume_keys"}}
    )
) AS volume_namespaces,
{{end}}
