{{- /* Included by space_parts.sql: selects the mounts of the selected claims. */ -}}
true{{filter "cluster" "namespace"}}
{{- if given "owner" "group"}}
              AND (cluster, namespace, claim_name) IN (SELECT cluster, namespace, name FROM claims AS c FINAL WHERE {{template "claim_filter.sql"}})
{{- end}}
