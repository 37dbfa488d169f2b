{{- /* Included by other reports: selects the mounts of pods of {workload}. The primary key finds the
namespaces that have or had such pods, and no row is compared with these (indexHint). A pod without a controller is its own
workload. */ -}}
indexHint((cluster, namespace) IN
              (
                  SELECT cluster, namespace FROM pods
                  WHERE {{template "in_namespaces.sql"}} AND workload_name != '' AND workload_name IN ({workload:String}, substring({workload:String}, position({workload:String}, '/') + 1))
                  UNION ALL
                  SELECT cluster, namespace FROM pods
                  WHERE {{template "in_namespaces.sql"}} AND workload_name = '' AND name IN ({workload:String}, substring({workload:String}, position({workload:String}, '/') + 1))
              ))
          AND workload_name IN ({workload:String}, substring({workload:String}, position({workload:String}, '/') + 1))
          AND (workload_name = {workload:String} OR concat(workload_kind, '/', workload_name) = {workload:String})
