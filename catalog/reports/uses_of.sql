{{- /* Included by other reports, which have its_namespaces.sql before it: selects the clusters and namespaces in which
rows can match the flags, perhaps with others: each report also compares owners and groups exactly. */ -}}
true{{filter "cluster" "namespace"}}
{{- if given "owner" "group"}}
      AND {{inNamespaces "its_namespaces"}}
{{- end}}
