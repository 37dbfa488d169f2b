{{- /* Included by use-hours.sql, use-hours-found.sql and use_times.sql, behind its_volumes.sql: selects the uses o that match
--volume and --storageclass. */ -}}
{{if given "volume"}}(o.cluster, o.volume_uid) IN (SELECT v.1, v.2 FROM (SELECT arrayJoin(its_volumes) AS v)) AND {{end}}{{template "owned_class.sql"}}
