-- The life of a workload: its pods, what they mounted, and the claims that were made for it.
WITH
its_pods AS
(
    SELECT cluster, namespace, created_at, uid FROM pods
    WHERE ({cluster:String} = '' OR cluster = {cluster:String})
      AND namespace = substringIndex({workload:String}, '/', 1)
      AND workload_name != '' AND concat(namespace, '/', workload_kind, '/', workload_name) = {workload:String}
),
its_mounts AS
(
    SELECT * FROM mounts
    WHERE namespace = substringIndex({workload:String}, '/', 1)
      AND (cluster, namespace, pod_created_at, pod_uid) IN (SELECT cluster, namespace, created_at, uid FROM its_pods)
),
its_bindings AS
(
    SELECT cluster, claim_uid, volume_uid FROM bindings WHERE 0
),
its_claims AS
(
    SELECT cluster, uid FROM claims
    WHERE ({cluster:String} = '' OR cluster = {cluster:String})
      AND namespace = substringIndex({workload:String}, '/', 1)
      AND workload_name != '' AND concat(namespace, '/', workload_kind, '/', workload_name) = {workload:String}
),
its_volumes AS
(
    SELECT cluster, uid FROM volumes WHERE 0
),
{{template "timeline.sql"}}
