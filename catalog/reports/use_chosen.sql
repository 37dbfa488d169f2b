{{- /* Included by use-hours.sql and use-hours-found.sql: the uses o that --volume and --storageclass choose. */ -}}
({volume:String} = '' OR (o.cluster, o.volume_uid) IN (SELECT cluster, uid FROM its_volumes)) AND {{template "owned_class.sql"}}
