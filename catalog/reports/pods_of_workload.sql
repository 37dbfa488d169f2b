{{- /* Included by of_workload.sql: the pods of the workload that {workload} names; a pod without a controller is its own workload. */ -}}
SELECT cluster, namespace, uid FROM pods
           WHERE {{if eq . "recent"}}created_at >= oldest AND {{end}}({namespace:String} = '' OR namespace = {namespace:String})
             AND workload_name != '' AND workload_name = substring({workload:String}, position({workload:String}, '/') + 1)
             AND (workload_name = {workload:String} OR concat(workload_kind, '/', workload_name) = {workload:String})
           UNION ALL
           SELECT cluster, namespace, uid FROM pods
           WHERE {{if eq . "recent"}}created_at >= oldest AND {{end}}({namespace:String} = '' OR namespace = {namespace:String})
             AND workload_name = '' AND name = substring({workload:String}, position({workload:String}, '/') + 1)
             AND (name = {workload:String} OR concat('Pod/', name) = {workload:String})
