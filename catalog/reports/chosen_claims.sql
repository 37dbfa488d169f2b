{{- /* Included by other reports, which have claims_of_workload.sql before it if they take --workload: the
keys of the claims that match --namespace, --owner, --group and --workload. */ -}}
SELECT uid_key FROM claims AS c FINAL
           WHERE {{template "claim_filter.sql"}}
{{- if given "workload"}}
             AND {{listed "uid_key" "workload_claims"}}
{{- end}}
