{{- /* Included by idle_candidates.sql: the mounts of the chosen claims' volumes are in these namespaces. */ -}}
true{{filter "cluster"}}
{{- if given "namespace" "owner" "group"}}
          AND (cluster, namespace) IN (SELECT n.1, n.2 FROM (SELECT arrayJoin(its_namespaces) AS n))
{{- end}}
