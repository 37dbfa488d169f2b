{{- /* Included by other reports: whether a pod that mounted something can have lived in what of the window the rollup does not have. */ -}}
(pod_created_at < fromUnixTimestamp64Micro(first_edge, 'UTC') AND (ended_at IS NULL OR ended_at > fromUnixTimestamp64Micro(began_micros, 'UTC'))
               OR pod_created_at < fromUnixTimestamp64Micro(ended_micros, 'UTC') AND (ended_at IS NULL OR ended_at > fromUnixTimestamp64Micro(last_edge, 'UTC')))
