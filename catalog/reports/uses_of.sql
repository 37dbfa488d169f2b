{{- /* Included by uses_filter.sql and owned.sql: selects the clusters and namespaces in which rows can match the flags;
with "at", those of all claims that the volumes in volume_keys have or had; with "ever", those of the cluster. */ -}}
{{if eq . "ever" -}}
true{{filter "cluster"}}
{{- else if eq . "at" -}}
true{{filter "cluster" "namespace"}}
{{- if given "owner" "group"}}
      AND {{inNamespaces "volume_namespaces" ""}}
{{- end}}
{{- else -}}
{{template "in_namespaces.sql"}}
{{- end}}
