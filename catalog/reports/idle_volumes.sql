{{- /* Included by idle_candidates.sql, with the column of a volume's UID: the chosen volumes. */ -}}
true{{filter "cluster"}}{{if given "namespace" "owner" "group"}} AND {{listed . "volume_keys"}}{{end}}
