{{- /* Included by space_parts.sql: whether a pod that mounted something can have lived after the days of the window that the rollup has, if there is such a time. */ -}}
last_edge < ended_micros AND pod_created_at < fromUnixTimestamp64Micro(ended_micros, 'UTC') AND (ended_at IS NULL OR ended_at > fromUnixTimestamp64Micro(last_edge, 'UTC'))
