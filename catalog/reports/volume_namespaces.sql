{{- /* Included by at.sql and idle_candidates.sql, behind the array volume_keys: the array volume_namespaces, of all claims
that these volumes have or had. namespaces.sql has the same as a parameter. */ -}}
{{if not (given "volume_namespaces")}}
(
    SELECT groupUniqArray((cluster, namespace))
    FROM
    (
        {{template "claim_namespaces.sql" "volume_keys"}}
    )
) AS volume_namespaces,
{{end}}
