{{- /* Included by idle_candidates.sql, with the key of a volume: the chosen volumes. */ -}}
true{{filter "cluster"}}{{if given "namespace" "owner" "group"}} AND {{listed . "volume_keys"}}{{end}}
