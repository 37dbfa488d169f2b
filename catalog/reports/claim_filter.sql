{{- /* Included by other reports: compares c, a claim or a pod, with --namespace, --owner and --group. The primary key
finds the namespaces of an owner or a group. */ -}}
true{{filter "c.namespace" "c.owner" "c.groups"}}
{{- if given "its_namespaces"}}
  AND {{inNamespaces "its_namespaces" "c."}}
{{- else if given "owner" "group"}}
  AND (c.cluster, c.namespace) IN ({{template "namespaces_of_owner.sql"}})
{{- end}}
