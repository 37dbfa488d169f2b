{{- /* Included by changed_of.sql, of_workload.sql and claims_of_workload.sql: as uses_of.sql, where its_namespaces.sql does not come before. */ -}}
true{{filter "cluster" "namespace"}}
{{- if given "owner" "group"}}
      AND (cluster, namespace) IN ({{template "namespaces_of_owner.sql"}})
{{- end}}
