{{- /* Included by use_keys.sql and use_pieces.sql: the mounts in use in what of the window the rollup does not have, "before" first_edge or "after" last_edge. A container can have
started before its pod was created, by a node's clock that is behind: a day is more than any clock that is used. A part that has no length has no mounts. */ -}}
{{- if eq . "before" -}}
first_edge > began_micros AND pod_created_at < fromUnixTimestamp64Micro(first_edge + 86400000000, 'UTC') AND (ended_at IS NULL OR ended_at >= fromUnixTimestamp64Micro(began_micros, 'UTC'))
{{- else -}}
last_edge < ended_micros AND pod_created_at < fromUnixTimestamp64Micro(ended_micros + 86400000000, 'UTC') AND (ended_at IS NULL OR ended_at >= fromUnixTimestamp64Micro(last_edge, 'UTC'))
{{- end}}
