{{- /* Included by space_parts.sql: whether a pod that mounted something can have lived before the days of the window that the rollup has, if there is such a time. */ -}}
first_edge > began_micros AND pod_created_at < fromUnixTimestamp64Micro(first_edge, 'UTC') AND (ended_at IS NULL OR ended_at > fromUnixTimestamp64Micro(began_micros, 'UTC'))
