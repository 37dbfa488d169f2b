-- The life of a workload: its pods, what they mounted, and the claims that were made for it.
WITH
(
    SELECT groupUniqArray((cluster, namespace, created_at, uid)) FROM pods FINAL
    WHERE true{{filter "cluster"}}
      AND namespace = substringIndex({workload:String}, '/', 1)
      AND (workload_name != '' AND concat(namespace, '/', workload_kind, '/', workload_name) = {workload:String}
           OR workload_name = '' AND concat(namespace, '/Pod/', name) = {workload:String}) -- a pod without a controller is its own workload
) AS pod_ids,
{{template "lives_of_pods.sql"}}
(
    SELECT groupUniqArray((cluster, namespace, uid, name)) FROM claims FINAL
    WHERE true{{filter "cluster"}}
      AND namespace = substringIndex({workload:String}, '/', 1)
      -- Claims of a StatefulSet's templates, and those of generic ephemeral volumes, which are made for a pod.
      AND (workload_name != '' AND concat(namespace, '/', workload_kind, '/', workload_name) = {workload:String}
           OR pod_uid != '' AND (cluster, pod_uid) IN (SELECT cluster, uid FROM its_pods))
) AS claim_ids,
{{template "timeline.sql"}}
