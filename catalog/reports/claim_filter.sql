{{- /* Included by other reports: the rows of c, which are claims or pods, that --namespace, --owner and --group choose. Those of an owner are in its namespaces,
which are found by the key. */ -}}
true{{filter "c.namespace" "c.owner" "c.groups"}}
{{- if given "owner" "group"}}
  AND (c.cluster, c.namespace) IN ({{template "namespaces_of_owner.sql"}})
{{- end}}
