{{- /* Included by other reports: the keys of the claims that match --namespace, --owner, --group and --workload. */ -}}
SELECT uid_key FROM claims AS c FINAL
           WHERE {{template "claim_filter.sql"}}
{{- if given "workload"}}
             AND uid_key IN
          ({{template "claims_of_workload.sql"}})
{{- end}}
