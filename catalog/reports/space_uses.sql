{{- /* Included by space_parts.sql: the mounts of the chosen claims. */ -}}
true{{filter "cluster" "namespace"}}
{{- if given "namespace" "owner" "group"}}
              AND (cluster, namespace, claim_name) IN (SELECT cluster, namespace, name FROM claims AS c FINAL WHERE {{template "claim_filter.sql"}})
{{- end}}
