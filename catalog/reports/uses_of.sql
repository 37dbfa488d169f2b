{{- /* Included by other reports, which have its_namespaces.sql before it: selects the clusters and namespaces in which
rows can match the flags, perhaps with others: whose.sql and claim_filter.sql compare owners and groups. */ -}}
true{{filter "cluster" "namespace"}}
{{- if given "owner" "group"}}
      AND {{inNamespaces "its_namespaces"}}
{{- end}}
