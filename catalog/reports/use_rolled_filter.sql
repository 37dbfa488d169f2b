{{- /* Included by use_rolled.sql: selects the rows that match the flags. */ -}}
{{template "in_namespaces.sql"}}{{filter "owner" "groups"}}
      AND {{template "of_its_claims.sql" "claim_name"}}
{{- if given "workload"}}
      AND (workload_name = {workload:String} OR concat(workload_kind, '/', workload_name) = {workload:String})
{{- end}}
