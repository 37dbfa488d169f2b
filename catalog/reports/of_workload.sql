{{- /* Included by other reports: the mounts by pods of {workload}; "near" is all that is in their namespaces. */ -}}
(cluster, namespace) IN (SELECT cluster, namespace FROM ({{template "pods_of_workload.sql" .}}))
{{- if ne . "near"}}
          AND ({{hashes "cluster, pod_uid"}}) IN (SELECT {{hashes "cluster, uid"}} FROM ({{template "pods_of_workload.sql" .}}))
{{- end}}
