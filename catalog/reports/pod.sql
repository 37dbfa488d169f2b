-- The life of a pod, or of all pods that had a name in turn: when it ran and where, and what it mounted.
WITH
its_pods AS
(
    SELECT cluster, namespace, created_at, uid FROM pods
    WHERE ({cluster:String} = '' OR cluster = {cluster:String}) AND uid = {pod:String}
    UNION DISTINCT
    SELECT cluster, namespace, created_at, uid FROM pods
    WHERE ({cluster:String} = '' OR cluster = {cluster:String}) AND {{template "claim_named.sql" "{pod:String}"}}
),
its_mounts AS
(
    SELECT * FROM mounts
    WHERE (cluster, namespace, pod_created_at, pod_uid) IN (SELECT cluster, namespace, created_at, uid FROM its_pods)
),
its_bindings AS
(
    SELECT cluster, claim_uid, volume_uid FROM bindings WHERE 0
),
-- The claims that were made for the pod alone.
its_claims AS
(
    SELECT cluster, uid FROM claims WHERE pod_uid != '' AND (cluster, pod_uid) IN (SELECT cluster, uid FROM its_pods)
),
its_volumes AS
(
    SELECT cluster, uid FROM volumes WHERE 0
),
{{template "timeline.sql"}}
