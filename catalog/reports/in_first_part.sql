{{- /* Included by space_parts.sql: selects the pods that can have lived in the part of the window before the days of
the rollup; none if there is no such part. */ -}}
first_edge > began_micros AND pod_created_at < fromUnixTimestamp64Micro(first_edge, 'UTC') AND (ended_at IS NULL OR ended_at > fromUnixTimestamp64Micro(began_micros, 'UTC'))
                             AND toUnixTimestamp64Micro(pod_created_at) < {{template "rolled_edge.sql" "1"}}
