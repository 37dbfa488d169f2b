{{- /* Included by use-hours.sql, use-hours-found.sql and use_times.sql, behind its_volumes.sql: selects the uses o that match
--volume and --storageclass. */ -}}
{{if given "volume"}}{{template "of_its_volumes.sql" "o.cluster, o.volume_uid"}} AND {{end}}{{template "owned_class.sql"}}
