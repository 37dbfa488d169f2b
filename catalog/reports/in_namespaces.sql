{{- /* Included by blocked.sql and other files that do not come behind its_namespaces.sql: the same as uses_of.sql. */ -}}
true{{filter "cluster" "namespace"}}
{{- if given "owner" "group"}}
      AND (cluster, namespace) IN ({{template "namespaces_of_owner.sql"}})
{{- end}}
