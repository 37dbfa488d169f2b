{{- /* Included by use_created.sql and use_times.sql: selects the mounts that were in use in the parts of the window
that the rollup does not cover, "before" first_edge or "after" last_edge. A part without length has none. A
node whose clock is slow can date a container's start before its pod's creation: one day allows for that. */ -}}
{{- if eq . "before" -}}
first_edge > began_micros AND pod_created_at < fromUnixTimestamp64Micro(first_edge + 86400000000, 'UTC') AND (ended_at IS NULL OR ended_at >= fromUnixTimestamp64Micro(began_micros, 'UTC'))
            AND toUnixTimestamp64Micro(pod_created_at) < {{template "rolled_edge.sql" "1"}} + 86400000000
{{- else -}}
last_edge < ended_micros AND pod_created_at < fromUnixTimestamp64Micro(ended_micros + 86400000000, 'UTC') AND (ended_at IS NULL OR ended_at >= fromUnixTimestamp64Micro(last_edge, 'UTC'))
            AND ifNull(toUnixTimestamp64Micro(ended_at), 9000000000000000) >= {{template "rolled_edge.sql" "2"}}
{{- end}}
