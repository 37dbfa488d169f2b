{{- /* Included by uses_chosen.sql: the filters that its mounts, pods and claims have in common. "at" chooses by the volumes. */ -}}
({cluster:String} = '' OR cluster = {cluster:String})
      AND ({namespace:String} = '' OR namespace = {namespace:String})
{{- if ne . "at"}}
      AND ({owner:String} = '' AND {group:String} = '' OR (cluster, namespace) IN (SELECT n.1, n.2 FROM (SELECT arrayJoin(its_namespaces) AS n)))
{{- end}}
