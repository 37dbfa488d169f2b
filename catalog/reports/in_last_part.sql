{{- /* Included by space_parts.sql: selects the pods that can have lived in the part of the window after the days of the
rollup; none if there is no such part. */ -}}
last_edge < ended_micros AND pod_created_at < fromUnixTimestamp64Micro(ended_micros, 'UTC') AND (ended_at IS NULL OR ended_at > fromUnixTimestamp64Micro(last_edge, 'UTC'))
                             AND ifNull(toUnixTimestamp64Micro(ended_at), 9000000000000000) > {{template "rolled_edge.sql" "2"}}
