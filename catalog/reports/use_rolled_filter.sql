{{- /* Included by use_rolled.sql: selects the rows that match the flags. */ -}}
{{template "uses_of.sql"}}{{filter "owner" "groups"}}
{{- if given "volume"}}
      AND (cluster, volume_uid) IN (SELECT cluster, uid FROM its_volumes)
{{- end}}
{{- if given "workload"}}
      AND (workload_name = {workload:String} OR concat(workload_kind, '/', workload_name) = {workload:String})
{{- end}}
