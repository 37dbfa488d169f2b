{{- /* Included by changed_of.sql, of_workload.sql and claims_of_workload.sql: the same as uses_of.sql, for files that
do not come behind its_namespaces.sql. */ -}}
true{{filter "cluster" "namespace"}}
{{- if given "owner" "group"}}
      AND (cluster, namespace) IN ({{template "namespaces_of_owner.sql"}})
{{- end}}
