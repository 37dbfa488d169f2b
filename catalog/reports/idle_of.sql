{{- /* Included by idle_candidates.sql: where the claims of the chosen volumes are, and their mounts. */ -}}
true{{filter "cluster"}}
{{- if given "namespace" "owner" "group"}}
          AND (cluster, namespace) IN (SELECT n.1, n.2 FROM (SELECT arrayJoin(its_namespaces) AS n))
{{- end}}
