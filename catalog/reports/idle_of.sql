{{- /* Included by idle_candidates.sql: where the claims of the chosen volumes are, and their mounts. */ -}}
true{{filter "cluster"}}
{{- if given "namespace" "owner" "group"}}
          AND {{inNamespaces "its_namespaces"}}
{{- end}}
