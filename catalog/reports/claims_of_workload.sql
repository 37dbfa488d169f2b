{{- /* Included by bindings.sql, counts.sql, diff.sql, filling.sql, resizes.sql and rightsize.sql: the array workload_claims, with the keys of the claims that
pods of {workload} mounted between {since} and {until}; nothing without --workload. To find these may take seconds, and
ClickHouse computes an array of a WITH once. */ -}}
{{if given "workload"}}
(
    SELECT groupUniqArray({{key "cluster, claim_uid"}}) FROM mounts FINAL
    WHERE {{template "in_namespaces.sql"}} AND {{template "of_workload.sql"}}
      AND claim_uid != '' AND {{template "in_window.sql"}}
) AS workload_claims,
{{end}}
