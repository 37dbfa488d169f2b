{{- /* Included by other reports: the claims that --namespace, --owner, --group and --workload choose, by their hashes. */ -}}
SELECT {{hashes "cluster, uid"}} FROM claims AS c FINAL
           WHERE {{template "claim_filter.sql"}}
{{- if given "workload"}}
             AND (cluster, uid) IN
          ({{template "claims_of_workload.sql"}})
{{- end}}
