{{- /* Included by use-hours.sql, use-hours-found.sql and use_times.sql: selects the uses o that match
--volume and --storageclass. */ -}}
{{if given "volume"}}(o.cluster, o.volume_uid) IN (SELECT cluster, uid FROM its_volumes) AND {{end}}{{template "owned_class.sql"}}
