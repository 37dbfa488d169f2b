{{- /* Included by other reports, which have its_namespaces.sql before it: the rows of the clusters and namespaces in which something can be that the flags choose, and perhaps more: owners and groups are compared elsewhere. */ -}}
true{{filter "cluster" "namespace"}}
{{- if given "owner" "group"}}
      AND {{inNamespaces "its_namespaces"}}
{{- end}}
