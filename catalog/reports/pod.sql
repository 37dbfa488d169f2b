-- The life of a pod, or of all pods that had a name in turn: when it ran and where, and what it mounted.
WITH
(
    SELECT groupUniqArray((cluster, namespace, created_at, uid)) FROM
    (
        SELECT cluster, namespace, created_at, uid FROM pods WHERE uid = {pod:String}
        UNION ALL
        SELECT cluster, namespace, created_at, uid FROM pods WHERE {{template "claim_named.sql" "{pod:String}"}}
    )
    WHERE true{{filter "cluster"}}
) AS pod_ids,
{{template "lives_of_pods.sql"}}
-- The claims that were made for the pod alone.
(
    SELECT groupUniqArray((cluster, namespace, uid, name)) FROM claims FINAL
    WHERE pod_uid != '' AND (cluster, namespace, pod_uid) IN (SELECT cluster, namespace, uid FROM its_pods)
) AS claim_ids,
{{template "timeline.sql"}}
