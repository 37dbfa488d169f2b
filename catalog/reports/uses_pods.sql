{{- /* Included by uses.sql and history.sql: which pods may belong to the chosen mounts. */ -}}
{{if eq . "window" -}}
created_at >= oldest AND created_at <= {until:DateTime64(6, 'UTC')}
          AND {{template "uses_of.sql" .}}
          AND ({volume:String} = '' OR (cluster, namespace, created_at, uid) IN (SELECT cluster, namespace, pod_created_at, pod_uid FROM touched))
{{- else -}}
(cluster, namespace, created_at, uid) IN (SELECT cluster, namespace, pod_created_at, pod_uid FROM touched)
{{- end}}
