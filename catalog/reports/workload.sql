-- The life of a workload: its pods, what they mounted, and the claims that were made for it.
WITH
its_pods AS
(
    SELECT cluster, uid FROM pods
    WHERE ({cluster:String} = '' OR cluster = {cluster:String})
      AND workload_name != '' AND concat(namespace, '/', workload_kind, '/', workload_name) = {workload:String}
),
its_mounts AS
(
    SELECT * FROM mounts WHERE (cluster, namespace, pod_uid) IN
        (SELECT cluster, namespace, uid FROM pods WHERE (cluster, uid) IN (SELECT cluster, uid FROM its_pods))
),
its_bindings AS
(
    SELECT cluster, claim_uid, volume_uid FROM bindings WHERE 0
),
its_claims AS
(
    SELECT cluster, uid FROM claims
    WHERE ({cluster:String} = '' OR cluster = {cluster:String})
      AND workload_name != '' AND concat(namespace, '/', workload_kind, '/', workload_name) = {workload:String}
),
its_volumes AS
(
    SELECT cluster, uid FROM volumes WHERE 0
),
{{template "timeline.sql"}}
