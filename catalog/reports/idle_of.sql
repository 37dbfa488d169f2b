{{- /* Included by idle_candidates.sql: the mounts of the chosen claims' volumes are in these namespaces. */ -}}
({cluster:String} = '' OR cluster = {cluster:String})
          AND ({{template "unfiltered.sql"}} OR (cluster, namespace) IN (SELECT n.1, n.2 FROM (SELECT arrayJoin(its_namespaces) AS n)))
