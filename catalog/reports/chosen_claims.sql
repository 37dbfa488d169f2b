{{- /* Included by other reports: the claims that --namespace, --owner, --group and --workload choose, by their keys. */ -}}
SELECT uid_key FROM claims AS c FINAL
           WHERE {{template "claim_filter.sql"}}
{{- if given "workload"}}
             AND uid_key IN
          ({{template "claims_of_workload.sql"}})
{{- end}}
