{{- /* Included by changed_claims.sql: selects the cluster, and for a window the namespaces, that the flags ask for. */ -}}
{{if eq . "window"}}{{template "in_namespaces.sql"}}{{else}}true{{filter "cluster"}}{{end}}
