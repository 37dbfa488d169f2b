{{- /* Included by use-hours.sql, use-hours-found.sql and use_times.sql: selects the uses o that match
--volume and --storageclass. */ -}}
{{if given "volume"}}has(its_volumes, (o.cluster, o.volume_uid)) AND {{end}}{{template "owned_class.sql"}}
