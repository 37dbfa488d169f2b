{{- /* Included by idle_candidates.sql, shared_volumes.sql, space_parts.sql and space_uses.sql: selects the clusters and namespaces of the selected volumes' claims and
mounts. */ -}}
true{{filter "cluster"}}
{{- if given "namespace" "owner" "group"}}
          AND {{inNamespaces "volume_namespaces" ""}}
{{- end}}
