{{- /* Included by other reports, which have its_namespaces.sql before it: the rows of the clusters and namespaces in which something can be that the flags choose. */ -}}
true{{filter "cluster" "namespace"}}
{{- if given "owner" "group"}}
      AND (cluster, namespace) IN (SELECT n.1, n.2 FROM (SELECT arrayJoin(its_namespaces) AS n))
{{- end}}
