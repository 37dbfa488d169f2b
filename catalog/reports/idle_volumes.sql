{{- /* Included by idle_candidates.sql, with the column of a volume's key: selects the volumes. */ -}}
true{{filter "cluster"}}{{if given "namespace" "owner" "group"}} AND {{listed . "volume_keys"}}{{end}}
