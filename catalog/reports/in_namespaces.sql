{{- /* Included by other reports: selects the clusters and namespaces in which rows can match --cluster, --namespace,
--owner and --group, perhaps with others: each report also compares owners and groups exactly. The program asks for the
namespaces of an owner or a group first, and a printed statement finds them itself. */ -}}
true{{filter "cluster" "namespace"}}
{{- if given "its_namespaces"}}
      AND {{inNamespaces "its_namespaces" ""}}
{{- else if given "owner" "group"}}
      AND indexHint((cluster, namespace) IN ({{template "namespaces_of_owner.sql"}}))
      AND {{namespaceHash}} IN (SELECT {{namespaceHash}} FROM ({{template "namespaces_of_owner.sql"}}))
{{- end}}
