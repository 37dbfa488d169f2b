{{- /* Included by changed_claims.sql: the rows of the clusters, and of a window the namespaces, in which something can be that the flags choose. */ -}}
{{if eq . "window"}}{{template "in_namespaces.sql"}}{{else}}true{{filter "cluster"}}{{end}}
